/**
 * Verification in the background, started from the panel. It runs beside the requests of this process, works at most a
 * third of the time, and stores its result, so that every gateway shows it.
 */
import { createHmac } from 'node:crypto';
import type { Kysely } from 'kysely';
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { type AuditProblem, type AuditProblemKind, kindOfAuditProblem } from '../chain/problem.ts';
import { appendChange } from '../record/append-change.ts';
import * as store from './verification-store.ts';
import { verifyAudit } from './verify-audit.ts';

type Deps = { db: Kysely<unknown>; box: Pick<SecretBox, 'derive'>; clock: Clock; log: Logger };

const pageEvents = 200;
const touchEveryMs = 1_000;
/** A verification without progress for this long ended with its process. */
const silentMsMax = 30_000;

export type Verification = {
  state: 'running' | 'interrupted' | 'sound' | 'broken';
  actor: string;
  started: Date;
  finished: Date | null;
  chains: number;
  events: number;
  /** Events after the last signed head: their hashes are right, but their removal could not be detected. */
  unsigned: number;
  problem: ShownProblem | null;
};

/**
 * `seq`: the first event that is wrong or missing; null when the problem is the chain as a whole. `kind`: undefined for
 * a problem that only a later version knows. `upTo`: number of the last missing event, where that is known.
 */
type ShownProblem = {
  chain: number;
  seq: number | null;
  kind: AuditProblemKind | undefined;
  upTo: string | undefined;
};

/** Newest first. */
export const listVerifications = async (
  { db, box, clock }: Pick<Deps, 'db' | 'box' | 'clock'>,
  limit: number,
): Promise<Verification[]> => {
  const nowMs = clock.now().getTime();
  const key = box.derive(verdictLabel);
  return (await store.listVerifications(db, limit)).map((row) => ({
    state: stateOf(row, nowMs, key),
    actor: row.actor,
    started: row.started,
    finished: row.finished,
    chains: row.chains,
    events: row.events,
    unsigned: row.unsigned,
    problem: row.problem && showProblem(row.problem),
  }));
};

const showProblem = ({ chain, seq, problem }: AuditProblem): ShownProblem => ({
  chain,
  seq,
  kind: kindOfAuditProblem(problem),
  upTo: /up to (\d+)/.exec(problem)?.[1],
});

const verdictLabel = 'audit-verdict';

/** Signs a sound verdict, because write access to the table is enough to forge an unsigned one. */
const signVerdict = (
  key: Buffer,
  {
    id,
    finished,
    chains,
    events,
    unsigned,
  }: Pick<store.VerificationRow, 'id' | 'chains' | 'events' | 'unsigned'> & {
    finished: Date;
  },
): Buffer =>
  createHmac('sha256', key)
    .update(JSON.stringify(['sound', id, finished.toISOString(), chains, events, unsigned]))
    .digest();

const stateOf = (row: store.VerificationRow, nowMs: number, key: Buffer): Verification['state'] => {
  const { finished, problem, mac } = row;
  if (finished !== null && problem !== null) return 'broken';
  if (finished !== null) {
    return mac !== null && equalInConstantTime(mac, signVerdict(key, { ...row, finished })) ? 'sound' : 'interrupted';
  }
  return nowMs - row.touched.getTime() > silentMsMax ? 'interrupted' : 'running';
};

/**
 * Returns false when one is running. Resolves when the verification has begun; `listVerifications` shows its result.
 */
export const startVerification = async (
  deps: Deps,
  { actor, address }: { actor: string; address: string },
): Promise<boolean> => {
  const { db, box, clock } = deps;
  const id = await inTransaction(db, async (tx) => {
    await store.lockVerifications(tx);
    const [last] = await store.listVerifications(tx, 1);
    if (last !== undefined && stateOf(last, clock.now().getTime(), box.derive(verdictLabel)) === 'running')
      return undefined;
    await appendChange(tx, box, clock.now(), {
      action: 'audit.read',
      actor,
      address,
      details: JSON.stringify({ read: 'verify' }),
    });
    return store.insertVerification(tx, actor, clock.now());
  });
  if (id === undefined) return false;
  run(deps, id).catch((error: unknown) => deps.log.warn({ err: error }, 'a verification of the audit was interrupted'));
  return true;
};

const run = async (deps: Deps, id: number): Promise<void> => {
  let touchedMs = performance.now();
  let workedFromMs = touchedMs;
  const onPage = async (events: number): Promise<void> => {
    if (performance.now() - touchedMs > touchEveryMs) {
      touchedMs = performance.now();
      await store.touchVerification(deps.db, id, events, deps.clock.now());
    }
    const workedMs = performance.now() - workedFromMs;
    await new Promise((resolve) => setTimeout(resolve, workedMs * 2));
    workedFromMs = performance.now();
  };
  const found = await verifyAudit(deps, onPage, pageEvents);
  const finished = deps.clock.now();
  const mac =
    found.firstProblem === null ? signVerdict(deps.box.derive(verdictLabel), { ...found, id, finished }) : null;
  await store.finishVerification(deps.db, id, found, finished, mac);
};
