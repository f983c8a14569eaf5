// The frame of every page, and the files that pages load. All files come from this server, so that
// a console behind a closed firewall looks the same. The address of a file holds its hash, so that
// a browser can cache the file for a year.

import {createHash} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {dirname, join, resolve} from 'node:path';
import {html, type SafeHtml} from '@remix-run/html-template';
import type {FastifyInstance} from 'fastify';
import {chartStyle} from '../star/chart.ts';
import type {Viewer} from './access.ts';
import {type Elsewhere, linkTo, type PageContext} from './page.ts';
import {renderChosenAccount, renderHidden, renderOption, renderProse} from './render.ts';

interface DocumentParts {
  readonly title: string;
  readonly body: SafeHtml;
  /** The path of the section in the navigation. */
  readonly section: string;
  readonly context: PageContext;
  /** The outcome of the last action; null if there was none. */
  readonly message: string | null;
  /** Null for the pages of `renderPlain`. */
  readonly elsewhere: Elsewhere | null;
  /** The address that notifies the page of changes; null if no change makes it reload. */
  readonly live: string | null;
}

/** The sections of the console, grouped by purpose. */
const sectionGroups = [
  {
    name: 'Data',
    sections: [
      ['/business', 'Business'],
      ['/records', 'Records'],
      ['/changes', 'Changes'],
      ['/fields', 'Fields'],
    ],
  },
  {
    name: 'Operate',
    sections: [
      ['/', 'Overview'],
      ['/sweeps', 'Sweeps'],
      ['/alerts', 'Alerts'],
      ['/accounts', 'Accounts'],
      ['/settings', 'Settings'],
      ['/health', 'Health'],
    ],
  },
] as const;

/** A whole page of the console, for somebody who is signed in. */
export function renderDocument({
  title,
  body,
  section,
  context,
  message,
  elsewhere,
  live,
}: DocumentParts): string {
  return renderShell(
    title,
    html`${renderTop(context)}
${renderSide(context, section)}
${live === null ? '' : html`<div id="live" hidden hx-sse:connect="${live}"></div>`}
<main id="page" tabindex="-1"${
      live === null
        ? ''
        : html` hx-get="${context.path}" hx-trigger="moved from:#live"
            hx-select="#page" hx-swap="outerMorph"`
    }>
  ${
    message === null ? '' : html`<p class="said" role="status">${renderProse(message, context)}</p>`
  }
  <h1>${title}</h1>
  ${body}
  ${elsewhere === null ? '' : renderElsewhere(context, elsewhere)}
</main>`,
  );
}

/** The bar of every page: search, account, help, and the menu of the person. */
function renderTop(context: PageContext): SafeHtml {
  const {name, role} = context.viewer;
  return html`<a class="skip" href="#page">Skip to the content</a>
<header class="top">
  <button class="plain to-sections" popovertarget="sections">Menu</button>
  <a class="brand" href="/">Fieldmirror</a>
  <form class="search" action="/records" role="search">
    ${renderChosenAccount(context)}
    <input type="search" name="q" id="search" accesskey="/" aria-label="Find a record"
      placeholder="Find a record: press /" title="by number, name, phone or key">
  </form>
  <div class="tools">${renderAccounts(context)}
    <a class="help" href="/docs" accesskey="?">Help</a>
    <button class="plain" popovertarget="person" title="${role}">${name}</button>
  </div>
  ${renderPerson(context)}
</header>`;
}

function renderSide(context: PageContext, section: string): SafeHtml {
  return html`<nav class="side" id="sections" popover aria-label="Sections">${sectionGroups.map(
    ({name, sections}) =>
      html`<div><b>${name}</b>${sections.map(
        ([path, label]) =>
          html`<a href="${linkTo(context, path)}"${
            path === section ? html` aria-current="page"` : ''
          }>${label}</a>`,
      )}</div>`,
  )}</nav>`;
}

/** The name of the viewer, the clock of the pages, and the button to sign out. */
function renderPerson({viewer, timeZone, path}: PageContext): SafeHtml {
  const isUtc = timeZone === 'UTC';
  const token = renderHidden('form', viewer.formToken);
  return html`<div class="sheet" id="person" popover>
    <p>${viewer.name}, ${viewer.role}${viewer.masks ? ', masked' : ''}</p>
    <form method="post" action="/clock">${token}${renderHidden('back', path)}
      <p><small>Times in ${timeZone}</small></p>
      <button class="plain" name="clock" value="${isUtc ? 'account' : 'utc'}">${
        isUtc ? 'Show in the account’s zone' : 'Show in UTC'
      }</button></form>
    <form method="post" action="/sign-out">${token}<button class="plain">Sign out</button></form>
  </div>`;
}

/**
 * A page outside the list of pages, such as an error, a secret that is shown once, or a document.
 * For a viewer who is signed in, it has the frame, without a query for the accounts.
 */
export function renderPlain(title: string, body: SafeHtml, viewer?: Viewer): string {
  if (viewer !== undefined) {
    const emptyContext = {seen: [], accounts: [], path: '/', query: {}, timeZone: 'UTC'};
    const context = {viewer, ...emptyContext, now: new Date().toISOString()};
    return renderDocument({
      title,
      body,
      section: '',
      context,
      message: null,
      elsewhere: null,
      live: null,
    });
  }
  return renderShell(
    title,
    html`<header class="top"><a class="brand" href="/">Fieldmirror</a>
  <div class="tools"><a class="help" href="/docs">Help</a></div></header>
<main id="page" class="plain"><h1>${title}</h1>${body}</main>`,
  );
}

function renderShell(title: string, content: SafeHtml): string {
  return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="htmx-config" content='{"includeIndicatorCSS": false, "history": false,
  "morphIgnore": ["data-htmx-powered", "open"]}'>
<title>${title} · Fieldmirror</title>
<link rel="icon" href="${findAssetAddress('icon.svg')}">
<link rel="stylesheet" href="${findAssetAddress('console.css')}">
<script src="${findAssetAddress('console.js')}" defer></script>
</head>
<body>
${content}
</body>
</html>
`);
}

/** A viewer who sees several accounts chooses one, or all. */
function renderAccounts(context: PageContext): SafeHtml | string {
  if (context.seen.length < 2) return '';
  const {account: chosenName = '', ...filters} = context.query;
  const names = ['', ...context.seen.map(({name}) => name)];
  return html`<form class="accounts">
    ${Object.entries(filters).map(([name, value]) => renderHidden(name, value))}
    <label>Account <select name="account">${names.map((name) =>
      renderOption(name, name === chosenName, name === '' ? 'all' : name),
    )}</select></label> <button>Show</button></form>`;
}

function renderElsewhere(context: PageContext, {command, sql}: Elsewhere): SafeHtml {
  return html`<details class="elsewhere"><summary>The same elsewhere</summary>
  <dl>
    <dt>as command</dt><dd><pre tabindex="0">${command}</pre></dd>
    <dt>as SQL</dt><dd><pre tabindex="0">${sql}</pre></dd>
    <dt>as JSON</dt><dd><a href="${makeJsonUrl(context)}">${makeJsonUrl(context)}</a></dd>
  </dl></details>`;
}

function makeJsonUrl({path}: PageContext): string {
  return `${path}${path.includes('?') ? '&' : '?'}as=json`;
}

interface Asset {
  readonly type: string;
  readonly bytes: Buffer;
  readonly address: string;
}

const htmxFolder = dirname(createRequire(import.meta.url).resolve('htmx.org'));

/**
 * The scripts are served as one file, because htmx starts as soon as it is loaded. In a separate
 * file, its extension for events would arrive too late on a slow machine.
 */
const scripts = [
  join(htmxFolder, 'htmx.min.js'),
  join(htmxFolder, 'ext', 'hx-sse.min.js'),
  'shortcuts.js',
];

const assets: ReadonlyMap<string, Asset> = new Map(
  (
    [
      ['console.css', 'text/css; charset=utf-8', ['console.css'], chartStyle],
      ['icon.svg', 'image/svg+xml', ['icon.svg'], ''],
      ['console.js', 'text/javascript; charset=utf-8', scripts, ''],
    ] as const
  ).map(([name, type, paths, extraText]) => {
    const texts = paths.map((path) => readFileSync(resolve(import.meta.dirname, path), 'utf8'));
    const bytes = Buffer.from([...texts, extraText].join('\n'));
    const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 12);
    return [name, {type, bytes, address: `/assets/${hash}/${name}`}];
  }),
);

/** The address of a file. */
function findAssetAddress(name: string): string {
  const asset = assets.get(name);
  if (asset === undefined) throw new Error(`asset ${name}: no asset has that name`);
  return asset.address;
}

export function addAssets(app: FastifyInstance): void {
  for (const {address, type, bytes} of assets.values()) {
    app.get(address, {config: {isOpen: true}}, async (_request, reply) =>
      reply.header('cache-control', 'public, max-age=31536000, immutable').type(type).send(bytes),
    );
  }
}
