/** The release in the metrics of a process, so that a dashboard shows which processes of a fleet are updated. */
import { programCommit, programVersion } from '#src/platform/files/release.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';

export const showBuild = (metrics: Metrics): void =>
  metrics.gauges(
    'build_info',
    '1 for the release of the program and its commit, which is empty where it is not known',
    ['version', 'commit'],
    () => [[{ version: programVersion, commit: programCommit ?? '' }, 1]],
    'max',
  );
