/**
 * Service that checks the heads of all chains every three seconds, in a large fleet less often, independently of
 * requests. Each head must be signed and must continue the end that this installation knew before (external-heads.ts).
 * Problems are recorded permanently. Chains of processes that ended without closing them are verified and closed.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { type ChainEnd, headLabel } from '../chain/chain.ts';
import { findChain, findChains, hashesAt, placeKey } from '../chain/chain-store.ts';
import { checkKnown, checkSignatures, needsEvent } from '../chain/check-chain.ts';
import { type ChainRow, listHeadVersions } from '../chain/event-store.ts';
import { openExternalHeads } from '../chain/external-heads.ts';
import { type AuditProblem, auditProblems, isSameProblem } from '../chain/problem.ts';
import { type ProblemAction, recordProblem } from '../chain/record-problem.ts';
import { createAbandonedWatch, type SoundHead } from './close-abandoned.ts';

export type AuditGuardDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'derive'>;
  clock: Clock;
  log: Logger;
  /** Called with the sound heads of all chains after each reading, and awaited. */
  onHeads?: (heads: readonly SoundHead[]) => Promise<void>;
};

const everyMs = 3_000;
/** chosen: from more processes on, each reads less often, since otherwise what they read together grows with their square. */
const processesAtFullPace = 10;
/** chosen: the checkpoint of the tree that a gateway serves grows older by the wait, and should stay below a minute. */
const everyMsMax = 30_000;

/**
 * How long a process waits before it looks at all heads again. `processes`: chains that are open; the closed ones, of which there
 * are more with every start, cost little and change nothing. Random in a large fleet, so that processes which start together read
 * in turn.
 */
export const nextCheckMs = (processes: number, random: () => number = Math.random): number =>
  processes <= processesAtFullPace
    ? everyMs
    : Math.min(everyMsMax, (everyMs * processes) / processesAtFullPace) * (0.75 + random() / 2);

const chainsPage = 500;
const recordedMax = 100;

type Finding = { problem: AuditProblem; action: ProblemAction };

type Checked = SoundHead & { version: string };

/**
 * Checks every head that was written since the last look, `before`, against the end that was known before it was read, and
 * remembers sound heads. A head is also read again when a later end of it is known from elsewhere. Returns all sound heads.
 */
const checkHeads = async (
  deps: Pick<AuditGuardDeps, 'db' | 'box'>,
  before: ReadonlyMap<number, Checked>,
): Promise<{ heads: Map<number, Checked>; findings: Finding[] }> => {
  const { db, box } = deps;
  const external = openExternalHeads(box);
  const key = box.derive(headLabel);
  const known = external.known();
  const left = new Set(known.keys());
  const findings: Finding[] = [];
  const heads = new Map<number, Checked>();
  for (let after: number | undefined; ; ) {
    const versions = await listHeadVersions(db, after, chainsPage);
    const moved = new Map<number, string>();
    for (const { chain, version } of versions) {
      left.delete(chain);
      const head = before.get(chain);
      if (head?.version === version && head.seq === known.get(chain)?.seq) heads.set(chain, head);
      else moved.set(chain, version);
    }
    const rows = moved.size === 0 ? [] : await findChains(db, [...moved.keys()]);
    for (const row of await check(deps, key, rows, known, findings)) {
      external.note(row.chain, row);
      heads.set(row.chain, checkedOf(row, moved.get(row.chain) ?? ''));
    }
    const end = versions.at(-1);
    if (end === undefined || versions.length < chainsPage) break;
    after = end.chain;
  }
  for (const chain of left) {
    findings.push({ problem: { chain, seq: null, problem: auditProblems.chainMissing }, action: 'audit.rolled_back' });
  }
  return { heads, findings };
};

/** `version`: read before the row, so a write in between makes the next look read the row again. */
const checkedOf = ({ chain, process, seq, closed, mac }: ChainRow, version: string): Checked => ({
  ...{ chain, process, seq, closed, version },
  mac: mac.toString('hex'),
});

/** Returns the rows without a problem. */
const check = async (
  { db }: Pick<AuditGuardDeps, 'db'>,
  key: Buffer,
  rows: readonly ChainRow[],
  known: ReadonlyMap<number, ChainEnd>,
  findings: Finding[],
): Promise<ChainRow[]> => {
  const asked = rows.flatMap((row) => {
    const end = known.get(row.chain);
    return end !== undefined && needsEvent(row, end) ? [{ chain: row.chain, seq: end.seq }] : [];
  });
  const hashes = await hashesAt(db, asked);
  const sound: ChainRow[] = [];
  for (const row of rows) {
    const end = known.get(row.chain);
    if (findIn(key, row, end, hashes) === undefined) sound.push(row);
    else {
      // The retention may have run between the two reads, so the check is repeated before it counts.
      const again = await findChain(db, row.chain);
      const finding =
        again && findIn(key, again, end, end && (await hashesAt(db, [{ chain: row.chain, seq: end.seq }])));
      if (finding !== undefined) findings.push(finding);
    }
  }
  return sound;
};

const findIn = (
  key: Buffer,
  row: ChainRow,
  known: ChainEnd | undefined,
  hashes: ReadonlyMap<string, string> | undefined,
): Finding | undefined => {
  const signature = checkSignatures(key, row);
  if (signature !== undefined) return { problem: signature, action: 'audit.broken' };
  const behind = known && checkKnown(row, known, hashes?.get(placeKey(row.chain, known.seq)));
  return behind && { problem: behind, action: 'audit.rolled_back' };
};

/** Records each finding once, in the audit and among the external heads. */
const recordFindings = async (
  { db, box, clock }: Pick<AuditGuardDeps, 'db' | 'box' | 'clock'>,
  findings: readonly Finding[],
): Promise<void> => {
  for (const { problem, action } of findings.slice(0, recordedMax)) {
    await inTransaction(db, (tx) => recordProblem(tx, box, clock.now(), problem, action));
  }
};

export const createAuditGuard = (deps: AuditGuardDeps): Service => ({
  name: 'audit-guard',
  run: async (signal) => {
    const { box, log } = deps;
    const external = openExternalHeads(box);
    const abandoned = createAbandonedWatch(deps);
    const reported: AuditProblem[] = [];
    let heads: ReadonlyMap<number, Checked> = new Map();
    while (!signal.aborted) {
      try {
        loadExternalHeads(deps);
        const looked = await checkHeads(deps, heads);
        heads = looked.heads;
        const fresh = looked.findings.filter(({ problem }) => !reported.some((one) => isSameProblem(one, problem)));
        await recordFindings(deps, fresh);
        const sound = [...heads.values()].toSorted((a, b) => a.chain - b.chain);
        await abandoned.look(sound);
        await deps.onHeads?.(sound);
        for (const problem of external.problems()) {
          if (reported.some((one) => isSameProblem(one, problem))) continue;
          reported.push(problem);
          log.error(problem, 'the audit was changed');
        }
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, 'the heads of the audit could not be checked; trying again');
      }
      await saveExternalHeads(deps);
      const open = [...heads.values()].filter(({ closed }) => !closed);
      await pause(nextCheckMs(open.length), signal);
    }
  },
});

/** A file that cannot be read does not keep the heads from being compared with what this process knows. */
const loadExternalHeads = ({ box, log }: Pick<AuditGuardDeps, 'box' | 'log'>): void => {
  try {
    openExternalHeads(box).load();
  } catch (error) {
    log.warn({ err: error }, 'the heads of the audit outside of the database could not be read; trying again');
  }
};

const saveExternalHeads = async ({ box, log }: Pick<AuditGuardDeps, 'box' | 'log'>): Promise<void> => {
  try {
    await openExternalHeads(box).save();
  } catch (error) {
    log.warn({ err: error }, 'the heads of the audit could not be saved outside of the database; trying again');
  }
};
