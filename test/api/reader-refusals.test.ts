import {describe, expect, test} from 'vitest';
import {replaceForbidden} from '../../src/api/xml-document.ts';
import {readList} from '../../src/api/xml-strict.ts';
import {FatalError, RetryableError} from '../../src/core/errors.ts';
import {cpuMsOf} from '../support/cpu.ts';
import {makeJobPage} from './job-page.ts';
import {failureOf, fieldsOf, JOBS, readJobs} from './read-jobs.ts';

describe('an incomplete or invalid document is an error, never a shorter list', () => {
  test.each<[string, string, RegExp]>([
    ['nothing', '', /an empty body/],
    ['blanks', ' \n', /no element at all/],
    ['plain text', 'Rate limit exceeded', /plain text/],
    ['an HTML page', '<!DOCTYPE html><html><body>Log in</body></html>', /an HTML page/],
    ['an HTML page without DOCTYPE', '<html><body>Log in</body></html>', /an HTML page/],
    ['errors', '<errors><error>Invalid job.</error></errors>', /an element <errors>/],
    ['another list', '<customers type="array"/>', /an element <customers>/],
    ['a single record', '<job><id>1</id></job>', /an element <job>/],
    ['a record under the name of the list', '<jobs><id>1</id></jobs>', /an element <id>/],
    [
      'another record within',
      '<jobs type="array"><job><id>1</id></job><task><id>1</id></task></jobs>',
      /an element <task>/,
    ],
    ['one cut short between records', '<jobs type="array"><job><id>1</id></job>', /unclosed tag/],
    ['one cut short in a text', '<jobs><job><id>1</id></job><job><name>Smi', /unclosed tag/],
    ['mismatched tags', '<jobs><job><id>1</name></job></jobs>', /unexpected close tag/],
    [
      'a garbled middle',
      '<jobs><job><id>1</id></job><job><name>Smi</jobs>',
      /unexpected close tag/,
    ],
    ['a stray closing tag', '<jobs></job></jobs>', /unmatched closing tag|unexpected close tag/],
    ['two roots', '<jobs/><jobs/>', /one root/],
    ['text after the root', '<jobs/>more', /text data outside/],
    ['text before the root', 'x<jobs/>', /plain text/],
    ['text between records', '<jobs>x<job><id>1</id></job></jobs>', /text mixed with elements/],
    ['text after the records', '<jobs><job><id>1</id></job>x</jobs>', /text mixed with elements/],
    ['text in an empty list', '<jobs type="array">none</jobs>', /text mixed with elements/],
    ['a nil list', '<jobs nil="true"/>', /nil/],
    [
      'a raw ampersand',
      '<jobs><job><name>AT&T</name></job><job><name>x;</name></job></jobs>',
      /broken XML/,
    ],
    [
      'a reference that swallows tags',
      '<jobs><job><a>&#x12</a></job><job><a>1</a></job><job><a>x;</a></job></jobs>',
      /malformed character entity/,
    ],
    [
      'a swallowing reference with one inside',
      '<jobs><job><a>&#x12</a></job><job><a>&#0;</a></job></jobs>',
      /malformed character entity/,
    ],
    ['a DOCTYPE', '<!DOCTYPE jobs><jobs/>', /DOCTYPE/],
    [
      'a DOCTYPE after a declaration and comments',
      '<?xml version="1.0"?> <!-- a --><!DOCTYPE jobs [<!ENTITY x "y">]><jobs/>',
      /DOCTYPE/,
    ],
    [
      'an external entity',
      '<!DOCTYPE jobs [<!ENTITY x SYSTEM "file:///etc/passwd">]><jobs><job><a>&x;</a></job></jobs>',
      /DOCTYPE/,
    ],
    [
      'a blank line before the declaration',
      '\n<?xml version="1.0"?><jobs/>',
      /1 blanks or line ends before <\?xml/,
    ],
    [
      'a control character between records',
      '<jobs>\u0000<job><id>1</id></job></jobs>',
      /broken XML/,
    ],
    [
      'an attribute twice',
      '<jobs><job><a type="integer" type="integer">1</a></job></jobs>',
      /duplicate attribute/,
    ],
    ['an attribute without quotes', '<jobs><job><a type=integer>1</a></job></jobs>', /unquoted/],
    ['a tag inside a tag', '<jobs><job<a>1</a></job></jobs>', /broken XML/],
  ])('%s', (_, xml, words) => {
    const error = failureOf(
      xml,
      null,
      /DOCTYPE|before </.test(words.source) ? FatalError : RetryableError,
    );
    expect(error.message).toMatch(words);
    expect(error.message).toContain('GET /jobs.xml at test: expected a whole <jobs> list, got');
  });

  test('every truncation of a page, at every byte, in either dialect', () => {
    for (const dialect of ['observed', 'documented'] as const) {
      const page = makeJobPage({jobs: 2, dialect});
      const whole = page.lastIndexOf('>') + 1;
      for (let length = 0; length < whole; length++) {
        expect(() => readList(page.subarray(0, length), JOBS), `at ${length}`).toThrow(
          RetryableError,
        );
      }
      expect(readList(page.subarray(0, whole), JOBS).records).toHaveLength(2);
    }
  });

  test('200,000 nested tags are refused early', () => {
    const refuse = () =>
      expect(failureOf(`<jobs><job>${'<a>'.repeat(200_000)}`, null, FatalError).message).toMatch(
        /nested deeper than 20/,
      );
    expect(cpuMsOf(refuse)).toBeLessThan(1_000);
  });

  test('a DOCTYPE bomb is refused before it is parsed', () => {
    const entities = Array.from(
      {length: 100_000},
      (_, n) => `<!ENTITY e${n} "&e${n - 1};&e${n - 1};">`,
    ).join('');
    // A parser would meet the broken end, and report that.
    for (const end of [']><jobs/>', '', '</nothing>'])
      expect(failureOf(`<!DOCTYPE a [${entities}${end}`, null, FatalError).message).toMatch(
        /a DOCTYPE, which is never taken/,
      );
  });

  test('more records than the limit are a fatal error', () => {
    const xml = Buffer.from(`<jobs>${'<job><id>1</id></job>'.repeat(4)}</jobs>`);
    expect(() => readList(xml, JOBS, {limits: {records: 3}})).toThrow(FatalError);
    expect(readList(xml, JOBS, {limits: {records: 4}}).records).toHaveLength(4);
  });

  test.each<[string, () => string, RegExp]>([
    [
      '1,200,000 attributes of one element',
      () =>
        `<jobs><job ${Array.from({length: 1_200_000}, (_, n) => `a${n}="1"`).join(' ')}/></jobs>`,
      /more than 32 attributes in one element/,
    ],
    [
      '120,000 attributes of many',
      () => `<jobs><job>${'<a b="1" c="2" d="3" e="4" f="5" g="6"/>'.repeat(20_000)}</job></jobs>`,
      /more than 100000 attributes/,
    ],
    [
      'a million elements',
      () => `<jobs><job>${'<a/>'.repeat(1_000_000)}</job></jobs>`,
      /more than 300000 elements/,
    ],
    [
      'two million references and one',
      () => `<jobs><job><a>${'&amp;'.repeat(2_000_001)}</a></job></jobs>`,
      /more than 2000000 references/,
    ],
    ['33 MB', () => `<jobs>${' '.repeat(33_000_000)}</jobs>`, /more than 32000000 bytes/],
  ])('%s are a fatal error that names the limit', (_, make, words) => {
    const xml = Buffer.from(make());
    expect(() => readList(xml, JOBS)).toThrow(FatalError);
    expect(() => readList(xml, JOBS)).toThrow(words);
  });

  test.each<[string, () => string, RegExp]>([
    [
      'a name of a megabyte',
      () => `<jobs><job><${'a'.repeat(1_000_000)}/></job></jobs>`,
      /name longer than 1000/,
    ],
    [
      'a million control characters',
      () => `<jobs><job><a>${'\u0001'.repeat(1_000_000)}</a></job></jobs>`,
      /more than 10000 flaws/,
    ],
  ])('%s is a fatal error that names the limit', (_, make, words) => {
    expect(failureOf(make(), null, FatalError).message).toMatch(words);
  });

  test('no error message repeats the content of a document', () => {
    for (const xml of [
      'canary-4711',
      '<jobs><job><a>canary-4711</b></job></jobs>',
      '<html>canary-4711</html>',
    ]) {
      expect(JSON.stringify(failureOf(xml), ['message', 'stack', 'cause'])).not.toContain('canary');
    }
  });
});

describe('a flaw in one record makes only that record bad', () => {
  const good = '<job><id type="integer">1</id></job>';

  test.each<[string, string, RegExp]>([
    ['an integer of letters', '<id type="integer">abc</id>', /type integer/],
    ['an empty integer that is not nil', '<id type="integer"></id>', /type integer, but empty/],
    ['a decimal with a comma', '<a type="decimal">1,5</a>', /type decimal/],
    ['a decimal that is NaN', '<a type="decimal">NaN</a>', /type decimal/],
    ['a float of letters', '<a type="float">x</a>', /type float/],
    ['a boolean that is neither true nor false', '<a type="boolean">yes</a>', /type boolean/],
    ['a time on 30 February', '<a type="dateTime">2031-02-30T09:00:00-05:00</a>', /type dateTime/],
    ['a time without offset', '<a type="dateTime">2031-02-20T09:00:00</a>', /type dateTime/],
    ['a date in month 13', '<a type="date">2031-13-01</a>', /type date/],
    ['elements inside an integer', '<a type="integer"><b>1</b></a>', /elements inside/],
    ['text inside an array', '<a type="array">x</a>', /text mixed/],
    ['text before elements', '<a>x<b>1</b></a>', /text mixed/],
    ['text after elements', '<a><b>1</b>x</a>', /text mixed/],
    ['text beside the fields', 'x', /without elements|text mixed/],
    ['text after the fields', '<a>1</a>x', /text mixed/],
    ['content in a nil', '<a nil="true">x</a>', /nil="true"/],
    ['elements in a nil', '<a nil="true"><b/></a>', /nil="true"/],
    ['a nil that is neither true nor false', '<a nil="maybe"/>', /neither true nor false/],
    ['no fields', '', /without elements/],
    ['a control character', '<a>x\u0000y</a>', /XML forbids/],
    ['a vertical tab', '<a>\u000b</a>', /XML forbids/],
    ['a forbidden reference', '<a>&#0;</a>', /XML forbids/],
    ['a surrogate reference', '<a>&#xD800;</a>', /XML forbids/],
    ['an unknown entity', '<a>caf&eacute;</a>', /unknown entity/],
    ['an unknown entity in an attribute', '<a b="&bogus;">1</a>', /unknown entity/],
  ])('%s', (_, fields, words) => {
    const {records, bad} = readJobs(
      `<jobs type="array">${good}<job  >${fields}</job>\n${good}</jobs>`,
    );
    expect(records.map(fieldsOf)).toEqual([{id: '1'}, {id: '1'}]);
    expect(bad).toHaveLength(1);
    expect(bad[0]?.index).toBe(1);
    expect(bad[0]?.reason).toMatch(words);
    expect(bad[0]?.xml).toBe(`<job  >${replaceForbidden(fields)}</job>`);
  });

  test('a control character, even if XML 1.1 is declared', () => {
    const {records, bad} = readJobs(
      `<?xml version="1.1"?><jobs>${good}<job><a>&#1;</a></job></jobs>`,
    );
    expect(records).toHaveLength(1);
    expect(bad[0]?.reason).toMatch(/XML forbids/);
  });

  test('a self-closed record', () => {
    const {records, bad} = readJobs(`<jobs>${good}<job/><job nil="true"/></jobs>`);
    expect(records).toHaveLength(1);
    expect(bad.map(({xml}) => xml)).toEqual(['<job/>', '<job nil="true"/>']);
    expect(bad.map(({index}) => index)).toEqual([1, 2]);
  });

  test('a value longer than the limit', () => {
    const xml = `<jobs>${good}<job><a>${'x'.repeat(1_048_577)}</a></job>${good}</jobs>`;
    const {records, bad} = readJobs(xml);
    expect(records).toHaveLength(2);
    expect(bad[0]?.reason).toMatch(/longer than 1048576/);
    expect(
      readJobs(`<jobs><job><a>${'x'.repeat(1_048_576)}</a></job></jobs>`).records,
    ).toHaveLength(1);
  });

  test('a value longer than the limit, split by comments', () => {
    const {bad} = readList(
      Buffer.from(`<jobs><job><a>${'xy<!---->'.repeat(30)}</a></job></jobs>`),
      JOBS,
      {
        limits: {valueLength: 50},
      },
    );
    expect(bad[0]?.reason).toMatch(/longer than 50/);
  });

  test('two million references, within five seconds of CPU time', () => {
    const read = () => {
      const {bad} = readJobs(`<jobs><job><a>${'&amp;'.repeat(2_000_000)}</a></job></jobs>`);
      expect(bad).toHaveLength(1);
    };
    expect(cpuMsOf(read)).toBeLessThan(5_000);
  });
});
