// Serves a list of lean jobs, 2 kB each with nothing embedded, and the keys of it: made for each
// request, so that a million take no room; each page after so many milliseconds as are asked for.

import {setTimeout as wait} from 'node:timers/promises';
import {emptyList, serveJobs, xmlDeclaration} from './serve-jobs.ts';

const [jobCount = 0, latencyMs = 0] = process.argv.slice(2).map(Number);
const perPage = 30;
const customTexts = Array.from({length: 20}, (_, at) => {
  const tag = `custom-text${at + 1}`;
  return `    <${tag}>A gate code, a floor, a part that was ordered</${tag}>\n`;
}).join('');

serveJobs(async ({page, isOfKeys}, response) => {
  if (latencyMs > 0) await wait(latencyMs);
  const first = (page - 1) * perPage + 1;
  const last = Math.min(first + perPage - 1, jobCount);
  if (last < first) return void response.end(emptyList);
  const make = isOfKeys ? makeKey : makeJob;
  const jobs = Array.from({length: last - first + 1}, (_, at) => make(first + at));
  response.end(`${xmlDeclaration}<jobs type="array">\n${jobs.join('')}</jobs>\n`);
});

function makeKey(number: number): string {
  return `  <job>\n    <job-number type="integer">${number}</job-number>\n  </job>\n`;
}

function makeJob(number: number): string {
  return `  <job>
    <id type="integer">${1_000_000 + number}</id>
    <job-number type="integer">${number}</job-number>
    <customer-id type="integer">${(number % 150_000) + 1}</customer-id>
    <name>Job ${number}</name>
    <created-at type="dateTime">2026-01-05T10:00:00-05:00</created-at>
    <scheduled-on type="dateTime">2026-02-03T08:00:00-05:00</scheduled-on>
    <completed-on type="dateTime" nil="true"/>
    <subtotal type="decimal">${number % 900}.00</subtotal>
${customTexts}  </job>
`;
}
