/** Messages between the supervising process and the processes that serve. */
import type { KvAnswer, KvAsk } from '#src/platform/kv/index.ts';
import type { MetricsReading } from '#src/platform/telemetry/metrics.ts';
import type { RoleReadiness } from '../probes/role-readiness.ts';

/** To a process that serves. */
export type ToProcess =
  | { kind: 'answers'; answers: readonly KvAnswer[] }
  | { kind: 'published'; channel: string; message: string }
  | { kind: 'read'; id: number }
  | { kind: 'probe'; id: number }
  | { kind: 'state'; serving: number }
  | { kind: 'reload' }
  | { kind: 'stop' };

/** From a process that serves. */
export type FromProcess =
  | { kind: 'asks'; asks: readonly KvAsk[] }
  | { kind: 'publish'; channel: string; message: string }
  /** `reading` is missing when the metrics could not be read. */
  | { kind: 'reading'; id: number; reading?: MetricsReading }
  /** `readiness` is missing when the process is still starting. */
  | { kind: 'probed'; id: number; readiness?: RoleReadiness }
  | { kind: 'serving'; url: string };
