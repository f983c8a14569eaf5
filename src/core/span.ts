// Traces, for an operator who loads an OpenTelemetry SDK before Fieldmirror. Without one, a call
// here costs three microseconds and does nothing. docs/watching.md "Traces" lists the spans. An
// attribute is a name, a number or a count: never a value of a record, and no address with its
// query.

import {type Attributes, SpanKind, SpanStatusCode, trace} from '@opentelemetry/api';

/** The five spans: a sweep has pages and batches, a page and a change have requests. */
type SpanName = 'sweep' | 'page' | 'batch' | 'change' | 'request';

/** Adds facts to a span that become known only later. */
type Note = (more: Attributes) => void;

const tracer = trace.getTracer('fieldmirror');

/**
 * Does work within a span, which ends with it. Only the name of an error is recorded: its message
 * may quote the service.
 * @throws the error of the work
 */
export async function inSpan<T>(
  name: SpanName,
  attributes: Attributes,
  work: (note: Note) => Promise<T>,
): Promise<T> {
  const kind = name === 'request' ? SpanKind.CLIENT : SpanKind.INTERNAL;
  return await tracer.startActiveSpan(name, {kind, attributes}, async (span) => {
    try {
      return await work((more) => span.setAttributes(more));
    } catch (error) {
      span.setAttribute('error.type', error instanceof Error ? error.name : typeof error);
      span.setStatus({code: SpanStatusCode.ERROR});
      throw error;
    } finally {
      span.end();
    }
  });
}
