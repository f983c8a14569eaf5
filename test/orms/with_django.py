# An author's day with Django. Prints what became of it as JSON.
import json
import os
from urllib.parse import unquote, urlparse

import django
from django.conf import settings

url = urlparse(os.environ["AUTHOR_URL"])
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
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()

from django.db import IntegrityError, models  # noqa: E402


class Customer(models.Model):
    row_id = models.BigAutoField(primary_key=True)
    account_id = models.BigIntegerField()
    external_key = models.TextField(null=True)
    customer_number = models.BigIntegerField(null=True)
    name = models.TextField(null=True)
    phone_number = models.TextField(null=True)
    fax = models.TextField(null=True)
    balance = models.DecimalField(null=True, max_digits=30, decimal_places=10)
    pending = models.BooleanField(null=True, db_column="_pending")
    deleted_at = models.DateTimeField(null=True, db_column="_deleted_at")

    class Meta:
        app_label = "warehouse"
        managed = False
        db_table = "customers"


held = Customer.objects.get(customer_number=int(os.environ["CUSTOMER"]))
made = Customer.objects.create(
    account_id=held.account_id, external_key="django-1", name="Ada", phone_number="555-0100"
)
# Writes every column that the model knows, also those that Fieldmirror has filled since.
made.phone_number = "555-0101"
made.save()
held.fax = "555-0178"
held.save()
for name in ("Grace", "Grace Hopper"):
    Customer.objects.bulk_create(
        [Customer(account_id=held.account_id, external_key="django-2", name=name)],
        update_conflicts=True,
        unique_fields=["account_id", "external_key"],
        update_fields=["name"],
    )
Customer.objects.create(account_id=held.account_id, external_key="django-3", name="Gone").delete()
held.balance = 7
try:
    held.save(update_fields=["balance"])
    refused = None
except IntegrityError as error:
    refused = str(error)
print(json.dumps({"refused": refused}))
