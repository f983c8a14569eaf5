// Brings the answers of a Fieldmirror warehouse into Metabase: a connection, a collection with a question for each answer, and a
// dashboard for each reader. Run it again after an update of Fieldmirror: it changes what it made, and makes nothing twice.
//
//   METABASE_URL         the address of Metabase, as you open it
//   METABASE_API_KEY     a key of the group Administrators: Admin settings, Authentication, API keys
//   WAREHOUSE_URL        postgres://login:password@host:5432/warehouse as Metabase reaches it, of a login that may only read
//   FIELDMIRROR_ACCOUNT  the account, where the warehouse has several; run it once for each
//   METABASE_NAME        the name of the connection and of the collection; "Fieldmirror" where it is not set
//
// It needs Node 20, and nothing besides. It writes no password and no key anywhere but to Metabase.

const catalogue = {questions: [], dashboards: []};

const syncTimeoutMs = 300_000;
const requestTimeoutMs = 60_000;
/** Metabase divides a dashboard into 24 columns. */
const columns = 24;

await run();

async function run() {
  try {
    const settings = readSettings(process.env);
    const databaseId = await connect(settings);
    await waitForSync(settings, databaseId);
    const collectionId = await findCollection(settings);
    const cardIds = await saveQuestions(settings, {databaseId, collectionId});
    await saveDashboards(settings, {collectionId, cardIds});
    console.log(`done: ${settings.url}/collection/${collectionId}`);
  } catch (error) {
    console.error(`metabase: ${error.message}`);
    process.exitCode = 1;
  }
}

function readSettings(env) {
  const missing = ['METABASE_URL', 'METABASE_API_KEY', 'WAREHOUSE_URL'].filter(
    (name) => !env[name],
  );
  if (missing.length > 0)
    throw new Error(
      `expected ${missing.join(', ')} in the environment; the first lines of this file say what each is`,
    );
  const account = env.FIELDMIRROR_ACCOUNT || null;
  const name = env.METABASE_NAME || 'Fieldmirror';
  return {
    url: readUrl('METABASE_URL', env.METABASE_URL, ['http:', 'https:']).href.replace(/\/+$/, ''),
    key: env.METABASE_API_KEY,
    account,
    name,
    collection: account === null ? name : `${name}: ${account}`,
    details: readDetails(readUrl('WAREHOUSE_URL', env.WAREHOUSE_URL, ['postgres:', 'postgresql:'])),
  };
}

/** The value is not repeated in the error: it may hold a password. */
function readUrl(name, value, protocols) {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !protocols.includes(url.protocol))
    throw new Error(
      `${name}: expected an address that begins with ${protocols.map((each) => `${each}//`).join(' or ')}`,
    );
  return url;
}

/** The connection as Metabase wants it. Without `sslmode` in the address Metabase tries TLS first, and then without. */
function readDetails({hostname, port, pathname, username, password, searchParams}) {
  const mode = searchParams.get('sslmode');
  const tls =
    mode === null || mode === 'prefer'
      ? {}
      : mode === 'disable'
        ? {ssl: false}
        : {ssl: true, 'ssl-mode': mode};
  if (hostname === '' || username === '' || pathname.length < 2)
    throw new Error(
      'WAREHOUSE_URL: expected postgres://login:password@host:5432/database, with each of its parts',
    );
  return {
    // An IPv6 address stands in brackets in an address, and without them elsewhere.
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || 5432),
    dbname: decodeURIComponent(pathname.slice(1)),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    'schema-filters-type': 'inclusion',
    'schema-filters-patterns': 'mart',
    ...tls,
  };
}

/** Adds the connection, or gives the one of this name the address of now. A connection that could write is not left behind. */
async function connect(settings) {
  const {data} = await request(settings, 'GET', '/api/database');
  const found = data.find(({name, engine}) => name === settings.name && engine === 'postgres');
  if (found === undefined) {
    const {id} = await request(settings, 'POST', '/api/database', {
      name: settings.name,
      engine: 'postgres',
      details: settings.details,
    });
    try {
      await checkReader(settings, id);
    } catch (error) {
      await request(settings, 'DELETE', `/api/database/${id}`);
      throw error;
    }
    console.log(`connection "${settings.name}": added`);
    return id;
  }
  // Settings that a person added, such as a tunnel, stay; Metabase hides secrets and takes the hidden form as unchanged.
  const {details} = await request(settings, 'GET', `/api/database/${found.id}`);
  await request(settings, 'PUT', `/api/database/${found.id}`, {
    details: {...details, ...settings.details},
  });
  await checkReader(settings, found.id);
  await request(settings, 'POST', `/api/database/${found.id}/sync_schema`);
  console.log(`connection "${settings.name}": was there`);
  return found.id;
}

/** Questions in SQL run with the rights of the connection: a login that can write would let each of their authors write. */
async function checkReader(settings, databaseId) {
  const rows = await ask(
    settings,
    databaseId,
    `SELECT name, current_user, has_any_column_privilege('warehouse.customers', 'INSERT, UPDATE') FROM mart.dim_account ORDER BY name`,
  );
  const [[, login, canWrite] = []] = rows;
  if (canWrite)
    throw new Error(
      `WAREHOUSE_URL: expected a login that may only read, got "${login}"; make one: CREATE ROLE dashboards LOGIN PASSWORD '…' IN ROLE fieldmirror_reader`,
    );
  const accounts = rows.map(([name]) => name);
  const {account} = settings;
  if (account === null ? accounts.length > 1 : !accounts.includes(account))
    throw new Error(
      `FIELDMIRROR_ACCOUNT: expected one of ${accounts.join(', ')}, got ${account === null ? 'nothing' : `"${account}"`}`,
    );
}

/** Runs a statement as a question does, over the connection. */
async function ask(settings, databaseId, query) {
  const answer = await request(settings, 'POST', '/api/dataset', {
    database: databaseId,
    type: 'native',
    native: {query},
  });
  if (answer.status !== 'completed')
    throw new Error(
      `the warehouse, asked through Metabase: ${answer.error ?? answer.status}; expected the address of a warehouse of Fieldmirror, and a login in role fieldmirror_reader`,
    );
  return answer.data.rows;
}

async function waitForSync(settings, databaseId) {
  const deadline = Date.now() + syncTimeoutMs;
  for (;;) {
    const {initial_sync_status: status} = await request(
      settings,
      'GET',
      `/api/database/${databaseId}`,
    );
    if (status === 'complete') return;
    if (status === 'aborted' || Date.now() > deadline)
      throw new Error(
        `connection "${settings.name}": expected its sync to complete within ${syncTimeoutMs / 1000} s, got "${status}"; look under Admin settings, Databases, then run this again`,
      );
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

async function findCollection(settings) {
  const all = await request(settings, 'GET', '/api/collection');
  const found = all.find(
    ({name, location, archived}) => name === settings.collection && location === '/' && !archived,
  );
  if (found !== undefined) return found.id;
  const {id} = await request(settings, 'POST', '/api/collection', {
    name: settings.collection,
    description: 'Answers of Fieldmirror. A script keeps them: copy one before you change it.',
  });
  console.log(`collection "${settings.collection}": added`);
  return id;
}

/**
 * Saves a question for each answer.
 * @returns the number of each in Metabase, by its key
 */
async function saveQuestions(settings, {databaseId, collectionId}) {
  const held = await readItems(settings, collectionId, 'card');
  const cardIds = new Map();
  let added = 0;
  for (const {
    key,
    name,
    description,
    select,
    order,
    display,
    settings: form,
  } of catalogue.questions) {
    const card = {
      name,
      description: marked(description, key),
      display,
      visualization_settings: form,
      dataset_query: {
        database: databaseId,
        type: 'native',
        native: {query: `${select}${filterOf(settings)} ORDER BY ${order}`},
      },
    };
    const found = findMarked(held, key);
    if (found !== undefined) {
      await request(settings, 'PUT', `/api/card/${found.id}`, card);
      cardIds.set(key, found.id);
    } else {
      const {id} = await request(settings, 'POST', '/api/card', {
        ...card,
        collection_id: collectionId,
      });
      cardIds.set(key, id);
      added += 1;
    }
  }
  console.log(`questions: ${added} added, ${cardIds.size - added} brought up to date`);
  return cardIds;
}

function filterOf({account}) {
  if (account === null) return '';
  return ` WHERE account_key = (SELECT account_key FROM mart.dim_account WHERE name = '${account.replaceAll("'", "''")}')`;
}

async function saveDashboards(settings, {collectionId, cardIds}) {
  const held = await readItems(settings, collectionId, 'dashboard');
  for (const {key, name, description, questions} of catalogue.dashboards) {
    const about = {name, description: marked(description, key)};
    const found = findMarked(held, key);
    const {id} =
      found ??
      (await request(settings, 'POST', '/api/dashboard', {...about, collection_id: collectionId}));
    const {dashcards, tabs} = await request(settings, 'GET', `/api/dashboard/${id}`);
    const missing = questions.filter(
      (each) => !dashcards.some(({card_id}) => card_id === cardIds.get(each)),
    );
    await request(settings, 'PUT', `/api/dashboard/${id}`, {
      ...about,
      // Metabase takes the whole list or none: where nothing is missing, the places that people gave stay as they are.
      ...(missing.length === 0
        ? {}
        : {...tabsOf(tabs), dashcards: placeMissing({dashcards, tabs, missing, cardIds})}),
    });
    console.log(`dashboard "${name}": ${found === undefined ? 'added' : 'brought up to date'}`);
  }
}

/** The cards of a dashboard, and below them those that it lacks: the first across the whole width, then two in a row. */
function placeMissing({dashcards, tabs, missing, cardIds}) {
  const bottom = Math.max(0, ...dashcards.map(({row, size_y}) => row + size_y));
  const isNew = dashcards.length === 0;
  const top = isNew ? 3 : 0;
  const width = columns / 2;
  const placed = missing.map((key, at) => {
    const index = isNew ? at - 1 : at;
    const place =
      index < 0
        ? {row: 0, col: 0, size_x: columns, size_y: 3}
        : {
            row: bottom + top + Math.floor(index / 2) * 7,
            col: (index % 2) * width,
            size_x: width,
            size_y: 7,
          };
    // A number below zero tells Metabase that the card is new.
    return {
      id: -1 - at,
      card_id: cardIds.get(key),
      ...place,
      ...(tabs?.[0] ? {dashboard_tab_id: tabs[0].id} : {}),
    };
  });
  return [...dashcards.map(keepCard), ...placed];
}

/** A card of a dashboard with what Metabase takes back of it. */
function keepCard(card) {
  const names = [
    'id',
    'card_id',
    'action_id',
    'dashboard_tab_id',
    'row',
    'col',
    'size_x',
    'size_y',
  ];
  const kept = [
    ...names,
    'parameter_mappings',
    'visualization_settings',
    'inline_parameters',
  ].filter((name) => card[name] !== undefined);
  return {
    ...Object.fromEntries(kept.map((name) => [name, card[name]])),
    series: (card.series ?? []).map(({id}) => ({id})),
  };
}

function tabsOf(tabs) {
  return tabs?.length > 0 ? {tabs: tabs.map(({id, name}) => ({id, name}))} : {};
}

async function readItems(settings, collectionId, model) {
  const {data} = await request(
    settings,
    'GET',
    `/api/collection/${collectionId}/items?models=${model}`,
  );
  return data;
}

/** The end of a description, by which a thing is found again, whatever its name has become. */
function markOf(key) {
  return `(Fieldmirror: ${key})`;
}

function marked(description, key) {
  return `${description} ${markOf(key)}`;
}

function findMarked(items, key) {
  return items.find(({description}) => description?.endsWith(markOf(key)));
}

async function request({url, key}, method, path, body) {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      'x-api-key': key,
      ...(body === undefined ? {} : {'content-type': 'application/json'}),
    },
    ...(body === undefined ? {} : {body: JSON.stringify(body)}),
    signal: AbortSignal.timeout(requestTimeoutMs),
  }).catch((error) => {
    throw new Error(
      `${method} ${url}${path}: expected an answer, got ${error.cause?.message ?? error.message}`,
    );
  });
  const text = await response.text();
  if (!response.ok) {
    const hint = [401, 403].includes(response.status)
      ? '; METABASE_API_KEY: make a key of the group Administrators'
      : '';
    throw new Error(
      `${method} ${path}: expected 200, got ${response.status}: ${text.slice(0, 500)}${hint}`,
    );
  }
  return text === '' ? null : JSON.parse(text);
}
