/** What the parts of a program share while it starts. */
import type { Closers } from '#src/platform/closers.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import type { Traces } from '#src/platform/telemetry/traces.ts';
import type { CoreConnections } from './installation/core-connections.ts';
import type { Installation } from './installation/installation.ts';
import type { Certificates } from './listeners/certificates.ts';
import type { Probes } from './probes/answer-probes.ts';
import type { Drain } from './probes/drain.ts';
import type { SupervisingProcess } from './processes/supervising-process.ts';
import type { Settings } from './settings/config.ts';
import type { LiveSecrets } from './settings/live-secrets.ts';

export type Context = {
  settings: Settings;
  installation: Installation;
  metrics: Metrics;
  /** Undefined: tracing is not configured. */
  traces: Traces | undefined;
  secrets: LiveSecrets;
  certificates: Certificates;
  closers: Closers;
  coreConnections: CoreConnections;
  services: Service[];
  /** Origins that webhooks may always go to: the receiver of the demo. */
  ownOrigins: string[];
  /** Undefined: this process is the only one behind its port. */
  supervising: SupervisingProcess | undefined;
  probes: Probes;
  drain: Drain;
};
