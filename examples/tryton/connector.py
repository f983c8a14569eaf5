"""Keeps customers of Fieldmirror and parties of Tryton the same: see README.md.

python3 connector.py            runs until it is ended, and may be killed at any moment
python3 connector.py --once     ends when both sides are level
python3 connector.py --parties  prints the parties, as `fieldmirror match --from` reads them
python3 connector.py --begin    compares all customers and parties again, and ends when done;
                                --winner tryton: where both have a value, that of Tryton counts
"""
import argparse
import base64
import csv
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

FIELDMIRROR, KEY = os.environ["WAREHOUSE_URL"], os.environ["WAREHOUSE_KEY"]
TRYTON = os.environ["TRYTON_URL"]  # http://localhost:8000/DATABASE
LOGIN = base64.b64encode(
    f"{os.environ['TRYTON_USER']}:{os.environ['TRYTON_PASSWORD']}".encode()).decode()
SYNCED = "name,phone_number,fax,email_address,service_address,service_city,service_zip_code"
CSV = {"key": "key", "name": "name", "phone_number": "phone", "email_address": "email",
       "service_address": "street", "service_city": "city", "service_zip_code": "zip"}


class TrytonRefuses(Exception):
    """A value that Tryton does not take, in its words."""


class PlaceLost(Exception):
    """Fieldmirror no longer knows the cursor."""


def log(text):
    print(text, file=sys.stderr, flush=True)


def ask(url, authorization, body=None, kind="application/json"):
    headers = {"Authorization": authorization, "Content-Type": kind}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=90) as answer:
        return answer.read().decode()


def fieldmirror(path, body=None, kind="application/json", **query):
    url = f"{FIELDMIRROR}/v1/{path}?{urllib.parse.urlencode(query)}"
    try:
        return ask(url, f"Bearer {KEY}", body, kind)
    except urllib.error.HTTPError as error:
        problem = json.loads(error.read() or "{}")
        if error.code == 410:
            raise PlaceLost(problem.get("detail")) from error
        raise OSError(f"Fieldmirror: {error.code} {problem.get('detail', '')}") from error


def tryton(method, *values):
    body = {"id": 0, "method": f"model.fieldmirror.place.{method}", "params": [*values, {}]}
    answer = json.loads(ask(f"{TRYTON}/rpc/", f"Basic {LOGIN}", json.dumps(body).encode()))
    if "error" not in answer:
        return answer["result"]
    if answer["error"][0] == "UserError":
        raise TrytonRefuses(answer["error"][1][0])
    raise OSError(f"Tryton: {answer['error']}")


def send():
    """Sends what was edited in Tryton, as of what Tryton has read. Returns how many parties."""
    taken = tryton("take")
    parties = [party for party in taken["parties"] if party["change"]]
    settled = [{**party, "problem": None} for party in taken["parties"] if not party["change"]]
    if parties:
        lines = [json.dumps({**party["change"], "seen": taken["cursor"]}) for party in parties]
        text = fieldmirror("changes", "\n".join(lines).encode(), "application/x-ndjson")
        *answers, end = [json.loads(line) for line in text.splitlines()]
        if "totals" not in end:
            raise OSError("Fieldmirror: the answer was cut off")
        settled += [{**party, "problem": explain(party["change"], answer["problem"])}
                    for party, answer in zip(parties, answers)]
    if settled:
        tryton("settle", settled)
    return len(settled)


def explain(change, problem):
    """Why Fieldmirror did not take a change; None if it did."""
    if problem is None or change["operation"] == "delete" and problem["status"] == 404:
        return None
    if problem["status"] == 410:
        raise PlaceLost(problem["detail"])
    log(f"party {change.get('external_key', '')}: {problem['detail']}")
    return f"{problem['detail']} {problem.get('hint', '')}".strip()


def receive(after, wait=0):
    """Applies in Tryton what changed in Fieldmirror. Returns whether anything had."""
    page = json.loads(fieldmirror("feed", after=after, wait=wait, limit=200, tables="customers",
                                  columns=SYNCED, changes="true"))
    if any(entry["operation"] == "loaded" for entry in page["entries"]):
        begin()  # the first sync of all customers is one entry
        return True
    for entry in page["entries"]:
        if entry["operation"] in ("conflict", "rejected"):
            change = json.loads(fieldmirror(f"changes/{entry['change_id']}"))
            if change["state"] == entry["operation"]:  # else it is decided: that entry follows
                entry["problem"] = f"Change {change['change_id']}: {change['reason']}"
    if page["cursor"] != after:
        apply(after, page["entries"], page["cursor"])
    return bool(page["entries"])


def apply(after, entries, cursor, winner="fieldmirror"):
    """Applies all in one transaction. If Tryton refuses, each alone: the party shows why."""
    try:
        return tryton("apply", after, entries, cursor, winner)
    except TrytonRefuses as refusal:
        if len(entries) == 1:
            log(f"customer {entries[0]['number']}: {refusal}")
            refused = {**entries[0], "operation": "refused", "problem": f"Tryton: {refusal}"}
            return tryton("apply", after, [refused], cursor, winner)
    for entry in entries:
        apply(after, [entry], entry["cursor"], winner)
        after = entry["cursor"]


def begin(winner="fieldmirror"):
    """Compares every customer with its party, and follows the feed from the cursor before."""
    cursor, page = json.loads(fieldmirror("feed", after="end"))["cursor"], {}
    tryton("begin_again")
    while True:
        read = json.loads(fieldmirror("customers", deleted="true", limit=200, **page))
        entries = [{"operation": "read" if row["_deleted_at"] is None else "removed",
                    "number": row["customer_number"], "after": row, "cursor": None, "own": False,
                    "merged_into": None, **{name: row[name] for name in ("row_id", "external_key")}}
                   for row in read["rows"]]
        apply(None, entries, None, winner)
        if read["next_page"] is None:
            break
        page = {"page": read["next_page"]}
    tryton("apply", None, [], cursor)


def level(wait=0):
    """One turn of both directions. Returns whether there was anything to do."""
    sent = send()
    got = receive(tryton("take", 0)["cursor"], wait=0 if sent else wait)
    return bool(sent or got)


def main():
    options = argparse.ArgumentParser()
    for name in ("--once", "--parties", "--begin"):
        options.add_argument(name, action="store_true")
    options.add_argument("--winner", choices=("fieldmirror", "tryton"), default="fieldmirror")
    asked = options.parse_args()
    if asked.parties:
        writer = csv.DictWriter(sys.stdout, CSV.values())
        writer.writeheader()
        for party in tryton("parties"):
            writer.writerow({CSV[name]: value for name, value in party.items() if name in CSV})
        return
    while True:
        try:
            if asked.begin or tryton("take", 0)["cursor"] is None:
                begin(asked.winner)
                asked.once, asked.begin = asked.once or asked.begin, False
            if not level(wait=0 if asked.once else 2) and asked.once:
                return
        except PlaceLost as lost:
            sys.exit(f"Fieldmirror no longer knows the cursor: {lost}\n"
                     "Compare both sides, then run: python3 connector.py --begin")
        except TrytonRefuses as refusal:
            sys.exit(f"Tryton: {refusal}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            if asked.once:
                sys.exit(str(error))
            log(f"{error}; trying again in 5 seconds")
            time.sleep(5)


if __name__ == "__main__":
    main()
