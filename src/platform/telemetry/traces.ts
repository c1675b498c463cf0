/**
 * Spans for OpenTelemetry. Features trace through this port and know no library. A span is passed on as an argument, so no
 * context follows the request. Without a collector there are no spans, and no library is loaded. Attributes are named by the
 * semantic conventions. No credential, query, body or personal address goes in.
 */
import type { TraceSpan, Traces, TracesDeps } from './trace-span.ts';

export type { TraceSpan, Traces } from './trace-span.ts';

/** Undefined: no collector is named. */
export const openTraces = async (deps: TracesDeps): Promise<Traces | undefined> => {
  const { endpoint } = deps.settings;
  if (endpoint === undefined) return undefined;
  const { createOtlpTraces } = await import('./otlp-traces.ts');
  return createOtlpTraces({ ...deps, endpoint });
};

/** Runs `work` inside a child span of `parent`. */
export const traced = async <T>(parent: TraceSpan | undefined, name: string, work: () => Promise<T>): Promise<T> => {
  if (parent === undefined) return work();
  const span = parent.child('internal', name);
  try {
    return await work();
  } catch (error) {
    span.fail(error instanceof Error ? error.name : 'unknown');
    throw error;
  } finally {
    span.end();
  }
};
