/** How many connections the public listeners of this process take together. */
import { readFileSync } from 'node:fs';
import { type ConnectionBound, createConnectionBound } from '#src/gateway/index.ts';
import type { Logger } from '#src/platform/log.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';

/** A line of the log for each connection would be a second load. */
const logEveryMs = 60_000;

/**
 * Half of the files that the process may open: a request may need a second connection, to its upstream, and the store needs some too.
 * Infinity where the system does not show the limit.
 */
const connectionsMax = (): number => {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === undefined ? Number.POSITIVE_INFINITY : Math.floor(Number(limit) / 2);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
};

export const boundPublicConnections = (metrics: Metrics, log: Logger): ConnectionBound => {
  const max = connectionsMax();
  const ended = metrics.counter(
    'connections_ended_total',
    'Connections that were ended because the public listeners had as many as they take, by reason: idle (a connection without a request, for a newer one), slow (one whose body hardly arrived, for a newer one), busy (a new one, while the others served requests)',
    ['reason'],
  );
  const counts = {
    idle: ended.child({ reason: 'idle' }),
    slow: ended.child({ reason: 'slow' }),
    busy: ended.child({ reason: 'busy' }),
  };
  let loggedAt = Number.NEGATIVE_INFINITY;
  const bound = createConnectionBound({
    max,
    onEnd: (reason) => {
      counts[reason].inc();
      const now = performance.now();
      if (now - loggedAt < logEveryMs) return;
      loggedAt = now;
      log.warn({ connections: max, reason }, 'connections are ended: the public listeners have as many as they take');
    },
  });
  metrics.gauge('connections', 'Open connections of the public listeners', bound.open);
  return bound;
};
