/** Metrics that every process has, whatever its role. */
import type { Store } from '#src/platform/db/index.ts';
import { programCommit, programVersion } from '#src/platform/files/release.ts';
import { droppedLogLines } from '#src/platform/log/standard-error.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import type { CoreConnections } from '../installation/core-connections.ts';

export const showProcess = (metrics: Metrics): void => {
  // A dashboard shows by it which processes of a fleet are updated.
  metrics.gauges(
    'build_info',
    '1 for the release of the program and its commit, which is empty where it is not known',
    ['version', 'commit'],
    () => [[{ version: programVersion, commit: programCommit ?? '' }, 1]],
    'max',
  );
  metrics.total('log_lines_dropped_total', 'Log lines that standard error did not take in time', droppedLogLines);
};

/** What waits for a connection of the pool: with it an operator tells a full pool from a slow process. */
export const showStore = (
  metrics: Metrics,
  { pool, sessions }: Pick<Store, 'pool' | 'sessions'>,
  core: Pick<CoreConnections, 'waiting'>,
): void =>
  metrics.gauge(
    'store_waiting',
    'Statements that wait for a connection to the store',
    () => pool.waitingCount + (sessions === pool ? 0 : sessions.waitingCount) + core.waiting(),
  );
