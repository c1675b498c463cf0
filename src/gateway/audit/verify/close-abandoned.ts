/**
 * Closes chains of processes that ended without closing them. On this host, such a process is recognised by its process
 * id. On other hosts it is recognised by a head that is not signed anew for 45 seconds.
 */
import { hostname } from 'node:os';
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { attestHeads } from '../chain/attest-heads.ts';
import { isOfFirstVersion } from '../chain/attested-heads.ts';
import { type ChainEnd, changesProcess, headLabel, signHead } from '../chain/chain.ts';
import { hashesAt, listLastEvents, placeKey, replaceHead } from '../chain/chain-store.ts';
import { checkEnd, checkKnown, checkSignatures, isAsWritten } from '../chain/check-chain.ts';
import { type ChainRow, listChainEvents, lockChain } from '../chain/event-store.ts';
import { externalHeadsOf } from '../chain/external-heads.ts';
import { extendChanges, lockChanges } from '../chain/open-chain.ts';
import { type AuditProblem, auditProblems } from '../chain/problem.ts';
import { recordProblem } from '../chain/record-problem.ts';

type Deps = { db: Kysely<unknown>; box: Pick<SecretBox, 'derive'>; clock: Clock };

/** A process signs its head every 15 s. */
const silentMsMax = 45_000;
const pageEvents = 1_000;

/** A head whose signatures and end were checked, without the ends that it attests. `mac` in hex. */
export type SoundHead = Pick<ChainRow, 'chain' | 'process' | 'seq' | 'closed'> & { mac: string };

export const createAbandonedWatch = (deps: Deps): { look(rows: readonly SoundHead[]): Promise<void> } => {
  const watched = new Map<number, { mac: string; sinceMs: number }>();
  const broken = new Set<number>();
  return {
    look: async (rows) => {
      const nowMs = performance.now();
      for (const row of rows) {
        if (row.closed || row.process === changesProcess || broken.has(row.chain)) {
          watched.delete(row.chain);
          continue;
        }
        const { mac } = row;
        const before = watched.get(row.chain);
        if (before?.mac !== mac) watched.set(row.chain, { mac, sinceMs: nowMs });
        const sinceMs = watched.get(row.chain)?.sinceMs ?? nowMs;
        if (!isGone(row.process) && nowMs - sinceMs < silentMsMax) continue;
        if (!(await closeAbandoned(deps, row))) broken.add(row.chain);
      }
    },
  };
};

const isGone = (process_: string): boolean => {
  const [, host, pid] = /^(.*):(\d{1,10})$/.exec(process_) ?? [];
  if (host !== hostname() || pid === undefined) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
};

/** False when the chain was changed; then it is left open and the problem is recorded. */
const closeAbandoned = ({ db, box, clock }: Deps, seen: SoundHead): Promise<boolean> =>
  inTransaction(db, async (tx) => {
    const now = clock.now();
    const key = box.derive(headLabel);
    const changes = await lockChanges(tx, box, now);
    const row = await lockChain(tx, seen.chain);
    // The process is alive after all, or another gateway was first.
    if (row === undefined || row.mac.toString('hex') !== seen.mac) return true;
    const end = await endOf(tx, key, row, externalHeadsOf(box)?.known().get(row.chain));
    if ('problem' in end) {
      await recordProblem(tx, box, now, end);
      return false;
    }
    const head = { ...row, ...end, closed: true, signed: now, seen: await attestHeads(tx, key, row.seen) };
    await replaceHead(tx, head, signHead(key, head), row.mac);
    const details = JSON.stringify({ chain: row.chain, events: end.seq, unsigned: end.seq - row.seq });
    await extendChanges(tx, box, changes, now, [{ action: 'audit.chain_closed', actor: 'system', details }]);
    return true;
  });

/**
 * Finds the end of the chain. Genuine events may follow a head of the first version, which was signed only once a
 * minute. They are accepted when each hash continues the one before, and the new signature then covers them.
 */
const endOf = async (
  tx: Kysely<unknown>,
  key: Buffer,
  row: ChainRow,
  known: ChainEnd | undefined,
): Promise<ChainEnd | AuditProblem> => {
  const signature = checkSignatures(key, row);
  if (signature !== undefined) return signature;
  const { chain } = row;
  let end: ChainEnd = { seq: row.seq, hash: row.hash };
  if (isOfFirstVersion(row.seen)) {
    const last = await listLastEvents(tx, chain);
    if ((last[0]?.seq ?? row.anchorSeq) > row.seq) {
      for (let at: Date | undefined; ; ) {
        const page = await listChainEvents(
          tx,
          chain,
          at === undefined ? { seq: end.seq } : { seq: end.seq, at },
          pageEvents,
        );
        for (const event of page) {
          if (event.seq !== end.seq + 1) return { chain, seq: end.seq + 1, problem: auditProblems.eventMissing };
          if (!isAsWritten(end.hash, chain, event))
            return { chain, seq: event.seq, problem: auditProblems.eventChanged };
          end = { seq: event.seq, hash: event.hash };
          at = event.at;
        }
        if (page.length < pageEvents) break;
      }
      const hashes = known && (await hashesAt(tx, [{ chain, seq: known.seq }]));
      return (known && checkKnown({ ...row, ...end }, known, hashes?.get(placeKey(chain, known.seq)))) ?? end;
    }
  }
  return checkEnd(row, await listLastEvents(tx, chain)) ?? end;
};
