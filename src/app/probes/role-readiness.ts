/** What `/readyz` of the internal listener says about this process, in every role. */
import type { Readiness } from '#src/gateway/index.ts';
import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import type { SchemaState } from '#src/platform/db/schema/pending.ts';
import { programVersion } from '#src/platform/files/release.ts';
import type { WorkerState } from '#src/webhooks/index.ts';
import type { Settings } from '../settings/config.ts';

export type RoleReadiness = {
  /** degraded: the process works, and an operator should look. draining: it is about to stop. */
  status: 'ok' | 'degraded' | 'starting' | 'draining' | 'unavailable';
  role: Settings['role'];
  /** Of the program. */
  version: string;
  [detail: string]: unknown;
};

export type ReadRoleReadiness = () => Promise<RoleReadiness>;

type RoleReadinessDeps = {
  role: Settings['role'];
  isDraining: () => boolean;
  /** Rejects when the store cannot be reached. */
  readSchema: () => Promise<SchemaState>;
  /** Never rejects, and answers in less than 2 s. */
  checkWrites: () => Promise<'ok' | 'failing'>;
  /** Secret settings whose changed file only another start uses. */
  waitingSecrets: () => readonly string[];
  /** Secret settings whose changed file cannot be used, so that the next start would fail. */
  refusedSecrets: () => readonly string[];
  /** Undefined in a role without a gateway. */
  gateway: (() => Promise<Readiness>) | undefined;
  /** Undefined in a role without workers. Rejects when the store cannot be reached. */
  worker: (() => Promise<WorkerState>) | undefined;
};

const answerMsMax = 2_000;

/** chosen: due deliveries of receivers that answer wait longer only when workers are too few, too slow or gone. */
const lateSeconds = 60;

/** Never rejects, and answers within little more than 2 s. */
export const createRoleReadiness =
  (deps: RoleReadinessDeps): ReadRoleReadiness =>
  async () => {
    const { role, isDraining } = deps;
    const [core, gateway, worker] = await Promise.all([readCore(deps), deps.gateway?.(), readWorker(deps)]);
    const secrets = readSecrets(deps);
    const parts = [core.status, secrets.status, gateway?.status ?? 'ok', worker?.status ?? 'ok'];
    const status = isDraining()
      ? 'draining'
      : (['unavailable', 'degraded'] as const).find((one) => parts.some((part) => part === one));
    return { ...gateway, ...worker, ...secrets, ...core, status: status ?? 'ok', role, version: programVersion };
  };

type PartStatus = 'ok' | 'degraded' | 'unavailable';

const readSecrets = ({ waitingSecrets, refusedSecrets }: RoleReadinessDeps) => {
  const isRestartNeeded = waitingSecrets().length > 0;
  const secrets = refusedSecrets().length > 0 ? 'refused' : isRestartNeeded ? 'restart_needed' : 'ok';
  const status: PartStatus = secrets === 'ok' ? 'ok' : 'degraded';
  return { status, secrets };
};

const readCore = async ({ readSchema, checkWrites }: RoleReadinessDeps) => {
  const reading = answerInTime(readSchema(), answerMsMax).catch(() => undefined);
  const [schema, written] = await Promise.all([reading, checkWrites()]);
  const writes = schema === undefined ? 'failing' : written;
  const isReady = schema !== undefined && schema !== 'behind' && writes === 'ok';
  const status: PartStatus = isReady ? 'ok' : 'unavailable';
  return { status, store: schema === undefined ? 'unavailable' : 'ok', writes, schema: schema ?? null };
};

const readWorker = async ({ worker }: RoleReadinessDeps) => {
  if (worker === undefined) return undefined;
  const state = await answerInTime(worker(), answerMsMax).catch(() => undefined);
  const isLate = state === undefined || state.oldestDueSeconds > lateSeconds;
  const status: PartStatus = state?.isLeaseHeld === true ? (isLate ? 'degraded' : 'ok') : 'unavailable';
  return {
    status,
    leases: state?.isLeaseHeld === true ? 'held' : 'lost',
    queue: isLate ? 'late' : 'ok',
    oldest_due_seconds: state === undefined ? null : Math.round(state.oldestDueSeconds),
  };
};
