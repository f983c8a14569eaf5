"""Parties: what a customer of Fieldmirror is in Tryton, and each edit of it noted."""
from trytond.model import fields
from trytond.pool import Pool, PoolMeta
from trytond.transaction import Transaction, without_check_access

# Columns of warehouse.customers, and what of a party is the same. For more fields, begin here.
MECHANISMS = {"phone_number": "phone", "fax": "fax", "email_address": "email"}
ADDRESS = {"service_address": "street", "service_city": "city", "service_zip_code": "postal_code"}
COLUMNS = ["name", *MECHANISMS, *ADDRESS]


def read_values(party):
    """What a party has of the columns of a customer; the first of several phones or addresses."""
    address = party.addresses[0] if party.addresses else None
    values = {"name": party.name}
    for column, kind in MECHANISMS.items():
        mechanism = party.contact_mechanism_get(kind)
        values[column] = mechanism and mechanism.value
    for column, field in ADDRESS.items():
        values[column] = address and getattr(address, field)
    return {column: value or None for column, value in values.items()}


def write_values(party, values):
    """Gives a party the values of some columns."""
    pool = Pool()
    Address, Mechanism = pool.get("party.address"), pool.get("party.contact_mechanism")
    if "name" in values:
        party.name = values["name"]
        party.save()
    for column, kind in MECHANISMS.items():
        if column in values:
            value, mechanism = values[column], party.contact_mechanism_get(kind)
            if mechanism is None and value:
                Mechanism.create([{"party": party.id, "type": kind, "value": value}])
            elif mechanism is not None and value:
                Mechanism.write([mechanism], {"value": value})
            elif mechanism is not None:
                Mechanism.delete([mechanism])
    address = {field: values[column] for column, field in ADDRESS.items() if column in values}
    if party.addresses and address:
        Address.write([party.addresses[0]], address)
    elif any(address.values()):
        Address.create([{"party": party.id, **address}])


def note_edits(party_ids):
    """Notes in the transaction of an edit that its parties are to be sent: none is ever missed."""
    if not Transaction().context.get("_fieldmirror"):
        with without_check_access():
            Pool().get("fieldmirror.edit").create([{"party": party_id} for party_id in party_ids])


class Party(metaclass=PoolMeta):
    __name__ = "party.party"
    field_service = fields.Boolean(
        "Field Service", help="This party is a customer of field service, too.")
    fieldmirror_problem = fields.Function(fields.Text("Fieldmirror"), "get_fieldmirror_problem")

    @classmethod
    @without_check_access
    def get_fieldmirror_problem(cls, parties, name):
        links = Pool().get("fieldmirror.link").of({party.id for party in parties})
        return {party.id: party.id in links and links[party.id].problem or None
                for party in parties}

    @classmethod
    def on_modification(cls, mode, parties, field_names=None):
        super().on_modification(mode, parties, field_names=field_names)
        note_edits({party.id for party in parties})


class Address(metaclass=PoolMeta):
    __name__ = "party.address"

    @classmethod
    def on_modification(cls, mode, addresses, field_names=None):
        super().on_modification(mode, addresses, field_names=field_names)
        note_edits({address.party.id for address in addresses})


class ContactMechanism(metaclass=PoolMeta):
    __name__ = "party.contact_mechanism"

    @classmethod
    def on_modification(cls, mode, mechanisms, field_names=None):
        super().on_modification(mode, mechanisms, field_names=field_names)
        note_edits({mechanism.party.id for mechanism in mechanisms})
