// Changes in hand, and the service's view of their records, as plain values for decisions.

import {readOne} from '../../src/api/xml-strict.ts';
import type {FieldRule, Rule} from '../../src/changes/authored-rows.ts';
import type {ClaimedChange} from '../../src/changes/claim-changes.ts';
import type {Begun} from '../../src/changes/move-changes.ts';
import type {KnownSubject, NewSubject, Subject} from '../../src/changes/request.ts';
import {
  type ChangeFacts,
  defaultSettlePolicy,
  type EndedAttempt,
  type Remote,
  type SendPlan,
} from '../../src/push/decision.ts';
import {findStream, findWrites} from '../../src/streams/all.ts';
import {listMissingParts} from '../../src/streams/record-plan.ts';
import {readRows} from '../../src/streams/record-rows.ts';

const blank: ClaimedChange = {
  changeId: '70',
  accountId: '1',
  table: 'customers',
  rowId: '700',
  operation: 'update',
  number: '7',
  parentRowId: null,
  externalKey: null,
  fields: {fax: '555-0199'},
  base: {fax: '555-0100'},
  seen: null,
  state: 'pending',
  reason: null,
  waitsFor: null,
  heldFor: null,
  isLarge: null,
  requestedAt: '2027-03-01T11:00:00Z',
  requestedBy: 'erp',
  application: null,
  batch: null,
  transactionId: null,
  undoes: null,
  dueAt: '2027-03-01T11:00:00Z',
  fence: 3,
  leaseUntil: null,
  failures: 0,
  sends: 0,
  sentAt: null,
  checks: 0,
  result: null,
  settledAt: null,
  accountName: 'acme',
  claimedAt: '2027-03-01T12:00:00Z',
  accountVersion: '1',
  requestEndedAgoMs: null,
  sentAgainAgoMs: null,
  stoppedKinds: [],
  isWritten: false,
  recentWrites: [],
};

/** @param rules - of some fields; the others ask */
export function factsOf(
  change: Partial<ClaimedChange> = {},
  {
    rules = {},
    ...more
  }: Partial<Omit<ChangeFacts, 'rules'>> & {rules?: Readonly<Record<string, Rule>>} = {},
): ChangeFacts {
  const whole = {...blank, ...change};
  const writes = findWrites(whole.table);
  const ruleOf = (name: string) => rules[name] ?? 'ask';
  return {
    change: whole,
    writes,
    stream: findStream(writes.stream),
    rules: new Map(
      writes.table.writable.map(({name, kind, group}): [string, FieldRule] => [
        name,
        {kind, group, rule: ruleOf(name)},
      ]),
    ),
    settle: defaultSettlePolicy,
    claimedMs: 50_000,
    heldMs: 50_010,
    backOffMs: 1_700,
    ...more,
  };
}

/** A record of the service: its elements, as XML. */
export function remoteOf(
  {stream}: Pick<ChangeFacts, 'stream'>,
  elements: string,
  more: Partial<Pick<Remote, 'requestedAt' | 'dateHeader'>> = {},
): Remote {
  const xml = Buffer.from(`<${stream.item}>${elements}</${stream.item}>`);
  const record = readOne(xml, stream, {thing: 'a test', contentType: 'application/xml'});
  const rows = readRows(stream, record, {timeZone: 'UTC'});
  return {
    ...rows,
    record,
    unsaid: listMissingParts(stream, record),
    requestedAt: 50_000,
    dateHeader: null,
    ...more,
  };
}

/** Customer 7 with a fax. */
export const withFax = (fax: string) => `<customer_number>7</customer_number><fax>${fax}</fax>`;

export const gone = {gone: true, status: 404, message: 'Invalid customer.'} as const;

export const known = (operation: KnownSubject['operation'] = 'update'): KnownSubject => ({
  operation,
  number: '7',
  parent: null,
});

export const fresh: NewSubject = {operation: 'create', parent: null};

/** A note of customer 7. */
export const note = (operation: KnownSubject['operation']): KnownSubject => ({
  operation,
  number: '12',
  parent: {table: 'customers', number: '7'},
});

export const begun: Begun = {attemptId: '900', startedAt: '2027-03-01T12:00:02Z'};

export function attempt(end: EndedAttempt['end']): EndedAttempt {
  return {attemptId: begun.attemptId, end};
}

export function sendPlan(subject: Subject, more: Partial<SendPlan> = {}): SendPlan {
  const fields = {fax: '555-0199'};
  return {
    what: 'send',
    subject,
    fields,
    narrowed: null,
    conflicts: [],
    unsent: [],
    before: null,
    ...more,
  };
}
