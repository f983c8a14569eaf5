# An author's day with SQLAlchemy. Prints what became of it as JSON.
import json
import os

from sqlalchemy import Table, create_engine, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Session

engine = create_engine(os.environ["AUTHOR_URL"].replace("postgres://", "postgresql+psycopg://"))


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __table__ = Table("customers", Base.metadata, schema="warehouse", autoload_with=engine)


with Session(engine) as session:
    made = Customer(external_key="sqlalchemy-1", name="Ada", phone_number="555-0100")
    session.add(made)
    session.commit()
    made.phone_number = "555-0101"
    session.commit()
    held = session.scalars(select(Customer).where(Customer.customer_number == int(os.environ["CUSTOMER"]))).one()
    held.fax = "555-0177"
    session.commit()
    for name in ("Grace", "Grace Hopper"):
        upsert = insert(Customer).values(account_id=held.account_id, external_key="sqlalchemy-2", name=name)
        session.execute(
            upsert.on_conflict_do_update(
                index_elements=["account_id", "external_key"], set_={"name": upsert.excluded.name}
            )
        )
        session.commit()
    gone = Customer(external_key="sqlalchemy-3", name="Gone")
    session.add(gone)
    session.commit()
    session.delete(gone)
    session.commit()
    try:
        held.balance = 7
        session.commit()
        refused = None
    except IntegrityError as error:
        session.rollback()
        refused = str(error.orig)
    print(json.dumps({"refused": refused}))
