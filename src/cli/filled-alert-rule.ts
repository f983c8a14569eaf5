// A rule that was filled into a form of the console, as `alerts add` takes it.

import type {GivenRule} from '../console/doings.ts';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {interval, intervalMs} from '../settings/interval.ts';
import {type PlannedRule, planRule} from './alert-rule-plan.ts';

/** @throws {UsageError} as `planRule`, and where a span is none */
export function planFilledRule(
  config: Pick<Config, 'keys' | 'allowsHttp'>,
  given: GivenRule,
): PlannedRule {
  const {name, receiver, address, smtp, every, quiet, causes} = given;
  return planRule(config, name, {
    [receiver]: address,
    cause: causes,
    ...(smtp === null ? {} : {smtp}),
    ...(every === null ? {} : {everyMs: readSpan('how often', every)}),
    ...(quiet === null ? {} : {quietMs: readSpan('quiet time', quiet)}),
  });
}

function readSpan(what: string, text: string): number {
  const read = interval.safeParse(text);
  if (read.success) return intervalMs(read.data);
  throw new UsageError(
    `${what}: expected a span such as 30s, 5m, 4h or 2d, got ${JSON.stringify(text)}`,
  );
}
