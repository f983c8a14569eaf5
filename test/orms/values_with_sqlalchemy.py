# Times and numbers as SQLAlchemy writes them. Prints what was refused as JSON.
import json
import os
from datetime import datetime, timezone
from decimal import Decimal

from sqlalchemy import Table, create_engine, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Session

url = os.environ["AUTHOR_URL"].replace("postgres://", "postgresql+psycopg://")
# A session that sets no time zone has that of the server.
silent = create_engine(url)
local = create_engine(url, connect_args={"options": f"-c TimeZone={os.environ['ZONE']}"})


class Base(DeclarativeBase):
    pass


class Task(Base):
    __table__ = Table("tasks", Base.metadata, schema="warehouse", autoload_with=silent)


class JobCharge(Base):
    __table__ = Table("job_charges", Base.metadata, schema="warehouse", autoload_with=silent)


try:
    with Session(silent) as session:
        session.add(Task(name="silent", scheduled_at=datetime(2027, 3, 1, 9, 0, 30)))
        session.commit()
    refused = None
except IntegrityError as error:
    refused = str(error.orig)
with Session(local) as session:
    session.add(Task(name="naive", scheduled_at=datetime(2027, 3, 1, 9, 0, 30)))
    session.add(Task(name="aware", scheduled_at=datetime(2027, 3, 1, 14, 0, 30, tzinfo=timezone.utc)))
    session.add(JobCharge(job_number=int(os.environ["JOB"]), price_per_unit=Decimal(str(0.1 + 0.2))))
    session.commit()
print(json.dumps({"refused": refused}))
