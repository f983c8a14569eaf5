// A page of jobs as recorded from the service (docs/service.md "Envelopes"; docs/service.md
// "Fields"), with invented values: the fixture of the tests of reader and cutter, in both dialects.

type Kind = 'integer' | 'decimal' | 'boolean' | 'dateTime' | 'float' | 'text';

export interface PageOptions {
  readonly jobs: number;
  /** `observed`: dashes and type attributes; `documented`: underscores, no attribute but nil. */
  readonly dialect?: 'observed' | 'documented';
  readonly firstNumber?: number;
}

/**
 * One page of `/jobs.xml` with customer, charges, notes and a status embedded: 7 kB a job in the
 * observed dialect.
 */
export function makeJobPage({jobs, dialect = 'observed', firstNumber = 1}: PageOptions): Buffer {
  const records = Array.from({length: jobs}, (_, index) => makeJob(firstNumber + index)).join('');
  const list = jobs === 0 ? '<jobs type="array"/>' : `<jobs type="array">\n${records}</jobs>`;
  const observed = `<?xml version="1.0" encoding="UTF-8"?>\n${list}\n`;
  return Buffer.from(dialect === 'observed' ? observed : toDocumented(observed));
}

function toDocumented(xml: string): string {
  return xml
    .replaceAll(/ type="[A-Za-z]+"/g, '')
    .replaceAll(/<\/?[a-z0-9-]+/g, (tag) => tag.replaceAll('-', '_'));
}

const KINDS: readonly [Kind, string][] = [
  ['integer', 'id customer-id job-number'],
  ['dateTime', 'created-at'],
  ['text', 'name'],
  ['dateTime', 'scheduled-on completed-on'],
  ['boolean', 'ok-to-sync'],
  ['text', 'txn-id edit-sequence ref-number'],
  ['decimal', 'subtotal tax balance-remaining'],
  ['text', 'estimate-type'],
  ['boolean', 'self-service'],
  ...Array.from({length: 10}, (_, n): [Kind, string][] => [
    ['text', `custom-text${n + 1}`],
    ['decimal', `custom-number${n + 1}`],
    ['dateTime', `custom-datetime${n + 1}`],
  ]).flat(),
  ['decimal', 'total'],
  ['integer', 'recurring-job-id'],
  ['text', 'recurring-interval'],
  ['dateTime', 'updated-at'],
  ['integer', 'job-type-id job-status-id'],
  ['dateTime', 'recurring-end-date'],
  ['text', 'customer-ref-list-id txn-number'],
  ['dateTime', 'txn-date'],
  ['decimal', 'sales-tax-percentage'],
  [
    'text',
    'item-sales-tax-ref-list-id item-sales-tax-ref-full-name customer-sales-tax-code-ref-list-id',
  ],
  ['text', Array.from({length: 10}, (_, n) => `custom-text${n + 11}`).join(' ')],
  ['decimal', 'duration'],
  ['dateTime', 'ends-at'],
  ['integer', 'created-by updated-by'],
  ['text', 'invoice-terms invoice-notes estimate-terms estimate-notes'],
  ['integer', 'tax-id'],
  ['dateTime', 'ship-date'],
  ['text', 'ship-method-ref-full-name description'],
  ['integer', 'max-recurring-iterator recurring-iterator'],
  ['boolean', 'detailed-invoice'],
  ['integer', 'service-type-id'],
  ['text', 'status invoice-status'],
  ['dateTime', 'invoice-date invoice-sent-date'],
  ['integer', 'tasks-count'],
  ['dateTime', 'won-date'],
  ['text', 'po-number'],
  ['dateTime', 'deleted-at'],
  ['text', 'schedule'],
  [
    'dateTime',
    'on-hold estimate-scheduled-on estimate-sent-on estimate-viewed-on invoice-viewed-on lost-date',
  ],
  ['dateTime', 'started-on canceled-on'],
  ['text', 'qb-error'],
  ['dateTime', 'invoice-paid-on'],
  ['boolean', 'notification-sent'],
  ['decimal', 'total-expenses'],
  ['dateTime', 'recurring-date last-recurring-date'],
  ['boolean', 'recurring-ended'],
];

const FIELDS = KINDS.flatMap(([kind, names]) => names.split(' ').map((name) => ({kind, name})));

const NEVER_NIL = new Set([
  ...['id', 'customer-id', 'job-number', 'created-at', 'updated-at', 'name', 'status'],
  ...['subtotal', 'tax', 'total', 'description'],
]);

function makeJob(number: number): string {
  const fields = FIELDS.map(
    ({kind, name}, at) => `    ${makeField(kind, name, number * 131 + at * 7)}\n`,
  ).join('');
  const days = '    <chosen-days-of-week type="array"/>\n';
  return `  <job>\n${fields}${days}${makeChildren(number)}  </job>\n`;
}

function makeField(kind: Kind, name: string, seed: number): string {
  if (name === 'job-number') return `<job-number type="integer">${(seed - 14) / 131}</job-number>`;
  const type = kind === 'text' ? '' : ` type="${kind}"`;
  if (!NEVER_NIL.has(name) && seed % 3 !== 0) return `<${name}${type} nil="true"/>`;
  return `<${name}${type}>${makeText(kind, seed)}</${name}>`;
}

const TEXTS = [
  'Replace the filter &amp; check the pump',
  'Smith &gt; Jones, 12 Elm Street\nBack door',
  '',
  'None',
  ' 00123',
  "Caf\u00e9 de l'\u00c9toile &#233;t&#xE9; \u{1F527}",
  'Line one\r\nLine two',
];

function makeText(kind: Kind, seed: number): string {
  if (kind === 'integer') return String(20_000_000 + seed);
  if (kind === 'decimal') return `${seed % 1000}.${seed % 10}0`;
  if (kind === 'float') return `${seed % 90}.3333333333333`;
  if (kind === 'boolean') return String(seed % 2 === 0);
  if (kind === 'dateTime')
    return `2031-0${1 + (seed % 9)}-${10 + (seed % 18)}T0${seed % 10}:30:00-05:00`;
  return TEXTS[seed % TEXTS.length] ?? '';
}

function makeChildren(number: number): string {
  return `    <job-allocations>
      <allocations type="array">
        <allocation>
          <id nil="true"/>
          <amount type="float">0.0</amount>
          <edited type="boolean">false</edited>
          <allocation-type>house</allocation-type>
        </allocation>
      </allocations>
      <include-expenses type="boolean">true</include-expenses>
    </job-allocations>
    <customer>
      <id type="integer">${5_000_000 + number}</id>
      <customer-number type="integer">${number}</customer-number>
      <name>Customer ${number}</name>
      <service-address>${number} Elm Street\nUnit 4</service-address>
      <company type="boolean">false</company>
    </customer>
    <job-charges type="array">
      <job-charge>
        <id type="integer">${7_000_000 + number}</id>
        <details>Labour</details>
        <quantity type="decimal">2.0</quantity>
        <price-per-unit type="decimal">275.10</price-per-unit>
      </job-charge>
      <job-charge>
        <id type="integer">${8_000_000 + number}</id>
        <details nil="true"/>
        <quantity type="decimal">1.5</quantity>
        <price-per-unit type="decimal">0.0</price-per-unit>
      </job-charge>
    </job-charges>
    <time-entries type="array"/>
    <notes type="array">
      <note>
        <id type="integer">${9_000_000 + number}</id>
        <note>Called back; the customer's gate code is 0042</note>
      </note>
    </notes>
    <job-type>
      <id type="integer">3</id>
      <name>Repair</name>
    </job-type>
    <tax-entity type="Tax">
      <id type="integer">4</id>
      <name>County</name>
    </tax-entity>
`;
}
