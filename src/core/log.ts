// A second protection beside the rule that no code hands a secret to a logger: every line is
// searched for the secrets that this process knows. (pino's redaction by path misses messages,
// causes, URLs.)

import {createRequire} from 'node:module';
import {type DestinationStream, type Logger, pino} from 'pino';
import type pinoPretty from 'pino-pretty';
import {errorNumbers, numberOfError} from './errors.ts';
import {type Hide, makeHider} from './hide-secrets.ts';
import type {Secret} from './secret.ts';
import {toPrintable} from './text.ts';

export type {Logger} from 'pino';

/**
 * The page with cause and fix for each event that is logged at `warn` or `error`: that of an alert,
 * if one reports the same, otherwise that of a kind of error.
 */
export const eventPages: Readonly<Record<string, string>> = {
  'account.stopped': 'A02',
  'account.unreachable': errorNumbers.service,
  'account.key_missing': 'A03',
  'alert.given_up': 'A21',
  'alert.postponed': 'A21',
  'alert.check_failed': errorNumbers.warehouse,
  'copy.suspected': 'A01',
  'delivery.failed': 'A25',
  'report.given_up': 'A26',
  'report.postponed': 'A26',
  'report.sent_again': 'A26',
  'delivery.check_failed': 'A23',
  'delivery.not_removed': 'A25',
  'feed.late': errorNumbers.feed,
  'feed.polled': errorNumbers.feed,
  'hook.postponed': 'A22',
  'hook.stopped': 'A22',
  'hook.not_recorded': 'A22',
  'outage.began': errorNumbers.outage,
  'outage.ended': errorNumbers.outage,
  'outage.continues': errorNumbers.outage,
  'push.needs_person': 'A11',
  'queue.unsafe': errorNumbers['queue-settings'],
  'queue.blocked': errorNumbers.locked,
  'report.failed': errorNumbers.report,
  'rows.repaired': errorNumbers.repaired,
  'schedule.overdue': 'A05',
  'service.connection_lost': errorNumbers.sandbox,
  'service.failed': errorNumbers.sandbox,
  'service.notifications_lost': errorNumbers.sandbox,
  'service.not_advanced': errorNumbers.sandbox,
  'star.not_refreshed': 'A19',
  'supervisor.not_notified': errorNumbers.supervisor,
  'sweep.ended': 'A07',
  'sweep.postponed': errorNumbers.service,
  'warehouse.not_pruned': errorNumbers.prune,
  'warehouse.blocked': errorNumbers.locked,
};

interface LogOptions {
  readonly level: string;
  /** May grow: a token that is opened later is searched for from then on. */
  readonly secrets: readonly Secret[];
  /** The stream for the lines; standard error by default. */
  readonly destination?: DestinationStream;
  /** Readable lines for a person instead of JSON. */
  readonly isPretty?: boolean;
}

/** A logger whose lines hold none of the given secrets. */
export function createLogger(options: LogOptions): Logger {
  let hideKnown: Hide = (line) => line;
  let knownCount = 0;
  const hide: Hide = (line) => {
    if (knownCount < options.secrets.length) {
      hideKnown = makeHider(options.secrets);
      knownCount = options.secrets.length;
    }
    return hideKnown(line);
  };
  const destination = options.destination ?? chooseDestination(options.isPretty ?? false);
  const print = options.isPretty === true ? printTexts : toPrintable;
  const scrubbed = {write: (line: string) => destination.write(print(hide(line)))};
  return pino({level: options.level, base: null, mixin: addPage}, scrubbed);
}

const warnLevel = 40;

/** Of a line that reports an error: the page of its cause. Without one, the event's page stays. */
export function causePage(error: unknown): {readonly docs?: string} {
  const docs = numberOfError(error);
  return docs === null ? {} : {docs};
}

/** Only events of problems have a page; a line may have its own number instead. */
function addPage(facts: object, level: number): {readonly docs?: string} {
  if (level < warnLevel || !('event' in facts)) return {};
  const docs = eventPages[String(facts.event)];
  return docs === undefined ? {} : {docs};
}

function chooseDestination(isPretty: boolean): DestinationStream {
  if (!isPretty) return pino.destination({dest: 2, sync: true});
  // Loaded only for lines that a person reads: it loads thirty files.
  const pretty: typeof pinoPretty = createRequire(import.meta.url)('pino-pretty');
  return pretty({
    destination: 2,
    sync: true,
    translateTime: 'HH:MM:ss',
    colorize: process.stderr.isTTY && process.stderr.hasColors(),
  });
}

/** Makes the texts in a line of JSON printable, for the formatter that prints them. */
function printTexts(line: string): string {
  const readable = JSON.parse(line, (_name, value) =>
    typeof value === 'string' ? toPrintable(value) : value,
  );
  return `${JSON.stringify(readable)}\n`;
}
