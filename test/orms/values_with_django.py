# Times and numbers as Django writes them, with USE_TZ or without. Prints what was refused as JSON.
import json
import os
from datetime import datetime, timezone
from urllib.parse import unquote, urlparse

import django
from django.conf import settings

url = urlparse(os.environ["AUTHOR_URL"])
is_aware = os.environ["USE_TZ"] == "True"
settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": url.path[1:],
            "USER": url.username,
            "PASSWORD": unquote(url.password or ""),
            "HOST": url.hostname,
            "PORT": url.port,
            "OPTIONS": {"options": "-c search_path=warehouse"},
        }
    },
    USE_TZ=is_aware,
    TIME_ZONE=os.environ["ZONE"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()

from django.db import models  # noqa: E402


class Task(models.Model):
    row_id = models.BigAutoField(primary_key=True)
    account_id = models.BigIntegerField()
    name = models.TextField(null=True)
    scheduled_at = models.DateTimeField(null=True)

    class Meta:
        app_label = "warehouse"
        managed = False
        db_table = "tasks"


class JobCharge(models.Model):
    row_id = models.BigAutoField(primary_key=True)
    account_id = models.BigIntegerField()
    job_number = models.BigIntegerField(null=True)
    price_per_unit = models.FloatField(null=True)

    class Meta:
        app_label = "warehouse"
        managed = False
        db_table = "job_charges"


account = int(os.environ["ACCOUNT"])
when = datetime(2027, 3, 1, 14, 0, 30, tzinfo=timezone.utc) if is_aware else datetime(2027, 3, 1, 9, 0, 30)
Task.objects.create(account_id=account, name="aware" if is_aware else "naive", scheduled_at=when)
JobCharge.objects.create(account_id=account, job_number=int(os.environ["JOB"]), price_per_unit=0.1 + 0.2)
print(json.dumps({"refused": None}))
