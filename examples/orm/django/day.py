"""A day of an ERP with Django: python3 day.py DEMO, where DEMO begins the keys of this run."""
import os
import sys
from urllib.parse import unquote, urlparse

import django
from django.conf import settings

url = urlparse(os.environ["AUTHOR_URL"])
database = {
    "ENGINE": "django.db.backends.postgresql",
    "NAME": url.path[1:],
    "USER": url.username,
    "PASSWORD": unquote(url.password or ""),
    "HOST": url.hostname,
    "PORT": url.port,
    "OPTIONS": {"options": "-c search_path=warehouse"},
}
settings.configure(DATABASES={"default": database}, USE_TZ=True)
django.setup()

from django.db import IntegrityError, models  # noqa: E402

key = sys.argv[1]


class Row(models.Model):
    """Columns of every table. A model leaves out extra, _first_seen_at and _changed_at."""

    row_id = models.BigAutoField(primary_key=True)
    account_id = models.BigIntegerField()
    external_key = models.TextField(null=True)
    customer_number = models.BigIntegerField(null=True)
    name = models.TextField(null=True)
    deleted_at = models.DateTimeField(null=True, db_column="_deleted_at")

    class Meta:
        abstract = True


class Customer(Row):
    phone_number = models.TextField(null=True)
    fax = models.TextField(null=True)
    balance = models.DecimalField(null=True, max_digits=30, decimal_places=10)

    class Meta:
        app_label, managed, db_table = "warehouse", False, "customers"


class Job(Row):
    parent_row_id = models.BigIntegerField(null=True)

    class Meta:
        app_label, managed, db_table = "warehouse", False, "jobs"


# Django sends account_id as NULL if it is not given: take that of any customer.
held = Customer.objects.filter(deleted_at=None, customer_number__gt=0).order_by("customer_number")[0]
account = {"account_id": held.account_id}

# Create. A job names its customer by row_id: a new customer has no number yet.
ada = Customer.objects.create(**account, external_key=f"{key}-C1", name="Ada", phone_number="555-0100")
boiler = Job.objects.create(**account, external_key=f"{key}-J1", parent_row_id=ada.row_id, name="Boiler")

# Update. save() writes every column of the model; those that did not change are no change.
ada.phone_number = "555-0101"
ada.save()
boiler.name = "Replace the boiler"
boiler.save()
held.fax = f"{key} 555-0178"
held.save()

# Upsert, twice with the same keys.
conflict = {"update_conflicts": True, "unique_fields": ["account_id", "external_key"], "update_fields": ["name"]}
for name in ("Grace", "Grace Hopper"):
    Customer.objects.bulk_create([Customer(**account, external_key=f"{key}-C2", name=name)], **conflict)
number = held.customer_number
for name in ("Pump", "Check the pump"):
    pump = Job(**account, external_key=f"{key}-J2", customer_number=number, name=name)
    Job.objects.bulk_create([pump], **conflict)

# Delete.
Customer.objects.create(**account, external_key=f"{key}-C3", name="Gone").delete()
Job.objects.create(**account, external_key=f"{key}-J3", customer_number=number, name="Gone").delete()

# Refused: only the service computes a balance.
held.balance = 7
try:
    held.save(update_fields=["balance"])
except IntegrityError as error:
    print(error)
