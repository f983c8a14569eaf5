// The Helm chart starts this version, and asks it what it answers. Where helm is, helm itself
// judges the chart.

import {spawnSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {parse} from 'yaml';
import {loadConfig} from '../../src/core/config.ts';
import {isOnPath} from '../support/server-process.ts';

const root = join(import.meta.dirname, '..', '..');
const chart = join(root, 'ops', 'helm');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

test('the chart has the version of the program', () => {
  const {version} = JSON.parse(read('package.json'));
  expect(parse(read('ops/helm/Chart.yaml'))).toMatchObject({version, appVersion: version});
});

test('the probes request paths that start serves, on the port that it is given', () => {
  const deployment = read('ops/helm/templates/deployment.yaml');
  const served = read('src/http/telemetry.ts');
  const asked = [...deployment.matchAll(/path: (\S+)/g)].map(([, path = '']) => path);
  expect(asked).toEqual(['/livez', '/livez', '/readyz']);
  for (const path of asked) expect(served).toContain(`app.get('${path}'`);
  expect(deployment).toContain('args: [start, --host, 0.0.0.0, --port, "8086"]');
  expect(deployment).toContain('containerPort: 8086');
});

test('the server has the host names of its Service, and gets no variables of Services', () => {
  const deployment = read('ops/helm/templates/deployment.yaml');
  const [, names = ''] = /name: FIELDMIRROR_HOST_NAMES\n +value: "(.*)"/.exec(deployment) ?? [];
  const filled = names
    .replaceAll('{{ .Release.Name }}', 'mirror')
    .replaceAll('{{ .Release.Namespace }}', 'prod')
    .replace(/\{\{ with .*\}\}$/, '');
  const {hostNames} = loadConfig({FIELDMIRROR_HOST_NAMES: filled});
  const longest = 'mirror.prod.svc.cluster.local';
  expect(hostNames).toEqual(['mirror', 'mirror.prod', 'mirror.prod.svc', longest]);
  // A Service named fieldmirror would bring FIELDMIRROR_PORT, which is no setting.
  expect(() => loadConfig({FIELDMIRROR_PORT: 'tcp://10.0.0.1:8086'})).toThrow('no such setting');
  expect(deployment).toContain('enableServiceLinks: false');
});

test('every value that the templates use has a default', () => {
  const values = parse(read('ops/helm/values.yaml'));
  const templates = ['deployment', 'service']
    .map((name) => read(`ops/helm/templates/${name}.yaml`))
    .join('\n');
  const named = [...templates.matchAll(/\.Values\.(\w+)(?:\.(\w+))?/g)];
  expect(named.length).toBeGreaterThan(8);
  const missing = named.filter(([, one = '', other]) => {
    const value = values[one];
    return value === undefined || (other !== undefined && value[other] === undefined);
  });
  expect(missing.map(([name]) => name)).toEqual([]);
});

// `helm version` is its own word for what others call --version.
test.skipIf(!isOnPath('helm', process.env, 'version'))(
  'helm lints the chart without a failure, and renders it',
  () => {
    const lint = spawnSync('helm', ['lint', '--strict', chart], {encoding: 'utf8'});
    expect(lint.stdout).toContain('1 chart(s) linted, 0 chart(s) failed');
    for (const hostNames of ['{a.example.com,b.example.com}', 'a.example.com\\,b.example.com']) {
      const values = `replicas=2,hostNames=${hostNames}`;
      const made = spawnSync('helm', ['template', 'mirror', chart, '--set', values], {
        encoding: 'utf8',
      });
      expect(made.stderr).toBe('');
      expect(made.stdout).toContain('replicas: 2');
      expect(made.stdout).toContain('.svc.cluster.local,a.example.com,b.example.com"');
    }
  },
);
