"""What the connector calls. Each call is one transaction of Tryton, and may be repeated."""
import json

from trytond.model import ModelSingleton, ModelSQL, Unique, fields
from trytond.pool import Pool
from trytond.rpc import RPC
from trytond.transaction import Transaction, inactive_records

from .party import COLUMNS, note_edits, read_values, write_values


class Edit(ModelSQL):
    "A party was edited, and is to be sent"
    __name__ = "fieldmirror.edit"
    # No Many2One: it is kept when the party is deleted.
    party = fields.Integer("Party", required=True)


class Link(ModelSQL):
    "What both sides agree on about a party"
    __name__ = "fieldmirror.link"
    party = fields.Many2One("party.party", "Party", required=True, ondelete="CASCADE")
    row = fields.Char("Row", help="row_id of a customer that does not have its key yet.")
    agreed = fields.Text(
        "Agreed", required=True, help="The values that both sides have, as Tryton writes them.")
    problem = fields.Text("Problem")

    @classmethod
    def __setup__(cls):
        super().__setup__()
        table = cls.__table__()
        cls._sql_constraints = [("party", Unique(table, table.party), "fieldmirror.msg_one_link")]

    @classmethod
    def of(cls, party_ids):
        return {link.party.id: link for link in cls.search([("party", "in", list(party_ids))])}


class Place(ModelSingleton, ModelSQL):
    "Up to where the feed of Fieldmirror was applied"
    __name__ = "fieldmirror.place"
    cursor = fields.Char("Cursor")

    @classmethod
    def __setup__(cls):
        super().__setup__()
        cls.__rpc__.update(
            parties=RPC(), take=RPC(), settle=RPC(readonly=False), apply=RPC(readonly=False),
            begin_again=RPC(readonly=False))

    @classmethod
    def parties(cls):
        """The living parties, for `fieldmirror match`."""
        Party = Pool().get("party.party")
        return [{"key": str(party.id), **read_values(party)} for party in Party.search([])]

    @classmethod
    def take(cls, limit=500):
        """The cursor, and of each party that was edited what to send and what to settle then."""
        edits = Pool().get("fieldmirror.edit").search([], limit=limit, order=[("id", "ASC")])
        noted = {}
        for edit in edits:
            noted.setdefault(edit.party, []).append(edit.id)
        parties, links = _find_parties(noted), Pool().get("fieldmirror.link").of(noted)
        return {"cursor": cls(1).cursor, "parties": [
            {"party": party_id, "edits": ids,
             "change": _make_change(party_id, parties.get(party_id), links.get(party_id))}
            for party_id, ids in noted.items()]}

    @classmethod
    def settle(cls, answers):
        """Notes what Fieldmirror answered. An edit made since `take` stays to be sent."""
        pool = Pool()
        Edit, Link = pool.get("fieldmirror.edit"), pool.get("fieldmirror.link")
        answers = {answer["party"]: answer for answer in answers}
        links = Link.of(answers)
        for party_id in _find_parties(answers):
            change, problem = answers[party_id]["change"], answers[party_id]["problem"]
            if change is None:
                continue
            link = links.get(party_id) or Link(party=party_id, agreed="{}")
            link.problem = problem
            if problem is None:
                link.row = None
                link.agreed = _add(link.agreed, change.get("fields", {}))
            link.save()
        ids = [edit_id for answer in answers.values() for edit_id in answer["edits"]]
        Edit.delete(Edit.search([("id", "in", ids)]))

    @classmethod
    def apply(cls, after, entries, cursor, winner="fieldmirror"):
        """Applies entries of the feed, and stores how far, in one transaction.

        Stops before an entry of a party with an edit that was not sent yet: that must be sent
        with the cursor from before the entry, so that Fieldmirror sees the conflict.
        """
        place = cls._my_place()
        if place.cursor != after:
            return  # another connector, or the one before a kill, has done this
        Edit = Pool().get("fieldmirror.edit")
        with Transaction().set_context(_fieldmirror=True):
            for entry in entries:
                party_id, party, link = _find(entry)
                if after and Edit.search([("party", "=", party_id)], limit=1):
                    cursor = after
                    break
                _apply(entry, party, link, winner)
                after = entry["cursor"]
        place.cursor = cursor
        place.save()

    @classmethod
    def begin_again(cls):
        """Forgets the place in the feed; what both sides agreed on is kept."""
        place = cls._my_place()
        place.cursor = None
        place.save()

    @classmethod
    def _my_place(cls):
        # Tryton makes the one record of a singleton whoever asks for it.
        Pool().get("ir.model.access").check(cls.__name__, "write")
        return cls(1)


def _find_parties(party_ids):
    Party = Pool().get("party.party")
    with inactive_records():
        found = Party.search([("id", "in", list(party_ids))])
    # Browsed anew, so that inactive addresses and phones are not read.
    return {party.id: party for party in Party.browse([party.id for party in found])}


def _find(entry):
    """The party of an entry: by its row_id until the customer has its key, then by that."""
    Link = Pool().get("fieldmirror.link")
    key = entry["external_key"]
    links = Link.search([("row", "=", entry["row_id"])], limit=1)
    party_id = links[0].party.id if links else int(key) if key and key.isdecimal() else None
    party = _find_parties([party_id]).get(party_id)
    return party_id, party, party and Link.of([party_id]).get(party_id)


def _make_change(party_id, party, link):
    """The line for POST /v1/changes; None if there is nothing to say."""
    change = {"table": "customers", "external_key": str(party_id)}
    is_customer = party and party.active and party.field_service
    if not is_customer and link and link.row:
        return {"table": "customers", "row_id": link.row, "operation": "delete"}
    if not is_customer:
        return {**change, "operation": "delete"} if link or party is None else None
    agreed = json.loads(link.agreed) if link else {}
    fields = {column: value for column, value in read_values(party).items()
              if value != agreed.get(column)}
    if link and link.row:
        return {**change, "operation": "update", "row_id": link.row,
                **({"fields": fields} if fields else {})}
    return {**change, "operation": "upsert", "fields": fields} if fields or not link else None


def _apply(entry, party, link, winner):
    pool = Pool()
    Party, Link = pool.get("party.party"), pool.get("fieldmirror.link")
    operation = entry["operation"]
    if operation not in {"created", "changed", "read", "removed"}:  # news of a change of ours
        if link:
            link.problem = entry.get("problem")
            link.save()
        return
    if operation == "removed":
        if link:
            # Nothing is agreed on: all values are sent if the party becomes a customer again.
            link.problem, link.agreed = _explain_removed(entry), "{}"
            link.save()
            # What was deleted here is put aside already; a merge or a create given up is no delete.
            if not entry["own"] and entry["number"] and not entry["merged_into"]:
                party.active = False
                party.save()
        return
    if party is None:
        if entry["own"] or operation == "changed":
            return  # it is deleted here, and that is on its way
        party, = Party.create([{"field_service": True}])
        link = Link(party=party.id, row=entry["row_id"], agreed="{}", problem=None)
        _note(party)
    is_new = operation == "created" or link is None
    if is_new and not (party.field_service and party.active):
        party.field_service = party.active = True
        party.save()
    link = link or Link(party=party.id, agreed="{}", problem=None)
    theirs = {column: entry["after"].get(column) for column in COLUMNS
              if operation != "changed" or column in entry["after"]}
    if operation == "read":
        theirs = _leave_ours(theirs, party, link, winner)
    mine = read_values(party)
    write_values(party, {column: value for column, value in theirs.items()
                         if (value or None) != mine[column]})
    now = read_values(Party(party.id))
    link.agreed = _add(link.agreed, {column: now[column] for column in theirs})
    if (link.problem or "").startswith("Tryton: "):
        link.problem = None  # a later value is accepted
    link.save()


def _leave_ours(theirs, party, link, winner):
    """At the beginning: what was edited here since both sides agreed, or never agreed, is sent."""
    mine, agreed = read_values(party), json.loads(link.agreed)
    left = {column for column, value in mine.items() if value != agreed.get(column)
            and value != (theirs[column] or None)
            and (column in agreed or winner == "tryton" or not theirs[column])}
    if left:
        _note(party)
    return {column: value for column, value in theirs.items() if column not in left}


def _explain_removed(entry):
    if entry["number"] is None:
        return "The service does not have this customer: its creation was given up."
    if entry["merged_into"]:
        return f"The service merged this customer into {entry['merged_into']}: merge it here, too."
    return None


def _note(party):
    with Transaction().set_context(_fieldmirror=False):
        note_edits({party.id})


def _add(agreed, values):
    return json.dumps({**json.loads(agreed), **values})
