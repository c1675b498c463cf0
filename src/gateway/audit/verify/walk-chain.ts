/** Walks one chain from its signed beginning to its signed end, with one page of events in memory. */
import type { Kysely } from 'kysely';
import { isOfFirstVersion } from '../chain/attested-heads.ts';
import { type ChainEnd, changesProcess } from '../chain/chain.ts';
import { findChain, firstSeq } from '../chain/chain-store.ts';
import { checkSignatures, isAsWritten } from '../chain/check-chain.ts';
import { type ChainRow, listChainEvents, type StoredEvent } from '../chain/event-store.ts';
import { type AuditProblem, auditProblems } from '../chain/problem.ts';
import { detailsOf } from '../event/found-event.ts';

/** A problem that an event of the chain of changes records. */
export type Recorded = { problem: AuditProblem };

export type Walked = { events: number; unsigned: number; problems: AuditProblem[]; recorded: Recorded[] };

type Deps = { db: Kysely<unknown>; key: Buffer };

/** `row`: its signatures were checked. `onPage` gets the number of events read so far. */
export const walkChain = async (
  { db, key }: Deps,
  row: ChainRow,
  pageSize: number,
  onPage: (events: number) => void | Promise<void>,
): Promise<Walked> => {
  const { chain } = row;
  const walked: Walked = { events: 0, unsigned: 0, problems: [], recorded: [] };
  const fail = (seq: number, problem: string): Walked => ({ ...walked, problems: [{ chain, seq, problem }] });
  const first = await firstSeq(db, chain);
  let head = row;
  let end: ChainEnd = { seq: row.anchorSeq, hash: row.anchorHash };
  let at: Date | undefined;
  for (;;) {
    const page = await listChainEvents(db, chain, at === undefined ? { seq: end.seq } : { seq: end.seq, at }, pageSize);
    // A running process writes further events, each with a newly signed head, so the head is read again.
    const reached = page.at(-1)?.seq ?? end.seq;
    if (reached > head.seq) head = (await readAgain(db, key, chain)) ?? head;
    for (const event of page) {
      const seq = end.seq + 1;
      if (event.seq !== seq) return fail(seq, auditProblems.eventMissing);
      if (!isAsWritten(end.hash, chain, event)) return fail(seq, auditProblems.eventChanged);
      if (seq > head.seq && !mayBeUnsigned(head)) return fail(seq, auditProblems.eventsBehind);
      end = { seq, hash: event.hash };
      at = event.at;
      walked.events += 1;
      if (seq > head.seq) walked.unsigned += 1;
      if ((seq === row.seq && end.hash !== row.hash) || (seq === head.seq && end.hash !== head.hash))
        return fail(seq, auditProblems.eventNotSigned);
      const problem = recordedIn(row, event);
      if (problem !== undefined) walked.recorded.push({ problem });
    }
    await onPage(walked.events);
    if (page.length < pageSize) break;
  }
  if (end.seq < row.seq) return fail(end.seq + 1, `${auditProblems.endMissing} ${row.seq}`);
  if (row.seq === row.anchorSeq && row.hash !== row.anchorHash) return fail(row.seq, auditProblems.eventNotSigned);
  if (first !== undefined && first <= row.anchorSeq) return fail(first, auditProblems.eventsBefore);
  return walked;
};

/** Undefined when the signature is wrong; then the head that was read first counts. */
const readAgain = async (db: Kysely<unknown>, key: Buffer, chain: number): Promise<ChainRow | undefined> => {
  const row = await findChain(db, chain);
  return row !== undefined && checkSignatures(key, row) === undefined ? row : undefined;
};

/** Only a process of the first version that ended before it closed its chain left events after its head. */
const mayBeUnsigned = ({ process, closed, seen }: ChainRow): boolean =>
  process !== changesProcess && !closed && isOfFirstVersion(seen);

const recordedIn = ({ process }: ChainRow, { action, at, details }: StoredEvent): AuditProblem | undefined => {
  if (process !== changesProcess || (action !== 'audit.broken' && action !== 'audit.rolled_back')) return undefined;
  const { chain, seq, problem } = detailsOf(details);
  // A writer of the tables may have stored anything here. The walk finds such an event by the hash in the signed head.
  if (typeof chain !== 'number' || (seq !== null && typeof seq !== 'number') || typeof problem !== 'string')
    return undefined;
  return { chain, seq, problem: `${problem} (found ${at.toISOString()})` };
};
