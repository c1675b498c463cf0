/** Messages between the supervising process and the processes that serve. */
import type { TableState } from '#src/gateway/index.ts';
import type { KvAnswer, KvAsk } from '#src/platform/kv/index.ts';
import type { MetricsReading } from '#src/platform/telemetry/metrics.ts';
import type { RoleReadiness } from '../probes/role-readiness.ts';

/** What a process gets when it starts, so that it serves as the others do, whatever the files hold meanwhile. */
export type FirstState = {
  /** How many processes should serve. */
  count: number;
  /** Before validation, with secrets. They travel by message only. */
  settings: Record<string, unknown>;
  /** Undefined: no process has read the table yet. */
  table: TableState | undefined;
};

/** To a process that serves. */
export type ToProcess =
  | { kind: 'first'; first: FirstState }
  | { kind: 'answers'; answers: readonly KvAnswer[] }
  | { kind: 'published'; channel: string; message: string }
  | { kind: 'read'; id: number }
  | { kind: 'probe'; id: number }
  | { kind: 'state'; serving: number }
  | { kind: 'reload' }
  | { kind: 'stop' };

/** From a process that serves. */
export type FromProcess =
  /** It listens for messages, and waits for what it gets when it starts. */
  | { kind: 'begin' }
  /** What it serves since its start or since a reload. */
  | { kind: 'table'; table: TableState }
  | { kind: 'asks'; asks: readonly KvAsk[] }
  | { kind: 'publish'; channel: string; message: string }
  /** `reading` is missing when the metrics could not be read. */
  | { kind: 'reading'; id: number; reading?: MetricsReading }
  /** `readiness` is missing when the process is still starting. */
  | { kind: 'probed'; id: number; readiness?: RoleReadiness }
  | { kind: 'serving'; url: string };
