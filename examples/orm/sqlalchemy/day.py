"""A day of an ERP with SQLAlchemy: python3 day.py DEMO, where DEMO begins the keys of this run."""
import os
import sys

from sqlalchemy import Table, create_engine, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Session

url = os.environ["AUTHOR_URL"].replace("postgres://", "postgresql+psycopg://")
# SQLAlchemy sets no time zone. Fieldmirror refuses a time without an offset if no session sets one.
engine = create_engine(url, connect_args={"options": "-c TimeZone=UTC"})
key = sys.argv[1]


class Base(DeclarativeBase):
    pass


# The columns are read from the database, with row_id as the primary key.
class Customer(Base):
    __table__ = Table("customers", Base.metadata, schema="warehouse", autoload_with=engine)


class Job(Base):
    __table__ = Table("jobs", Base.metadata, schema="warehouse", autoload_with=engine)


def upsert(session, model, account_id, external_key, **values):
    """Creates the row of a key, or updates it."""
    statement = insert(model).values(account_id=account_id, external_key=external_key, **values)
    session.execute(
        statement.on_conflict_do_update(index_elements=["account_id", "external_key"], set_=values)
    )


with Session(engine) as session:
    # Create. A job names its customer by row_id: a new customer has no number yet.
    ada = Customer(external_key=f"{key}-C1", name="Ada", phone_number="555-0100")
    session.add(ada)
    session.flush()
    boiler = Job(external_key=f"{key}-J1", parent_row_id=ada.row_id, name="Boiler")
    session.add(boiler)
    session.commit()

    # Update: what this program has made, and a customer that the service had before.
    ada.phone_number = "555-0101"
    boiler.name = "Replace the boiler"
    live = select(Customer).where(Customer._deleted_at.is_(None), Customer.customer_number.is_not(None))
    held = session.scalars(live.order_by(Customer.customer_number).limit(1)).one()
    held.fax = f"{key} 555-0177"
    session.commit()

    # Upsert, twice with the same keys.
    for name in ("Grace", "Grace Hopper"):
        upsert(session, Customer, ada.account_id, f"{key}-C2", name=name)
    for name in ("Pump", "Check the pump"):
        upsert(session, Job, ada.account_id, f"{key}-J2", customer_number=held.customer_number, name=name)
    session.commit()

    # Delete.
    gone = Customer(external_key=f"{key}-C3", name="Gone")
    done = Job(external_key=f"{key}-J3", customer_number=held.customer_number, name="Gone")
    session.add_all([gone, done])
    session.commit()
    session.delete(gone)
    session.delete(done)
    session.commit()

    # Refused: only the service computes a balance.
    try:
        held.balance = 7
        session.commit()
    except IntegrityError as error:
        session.rollback()
        print(error.orig)
