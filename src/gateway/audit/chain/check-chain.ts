/**
 * Pure: checks a head and the last events of its chain. Every part that extends or signs a chain checks it here first.
 */
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import { tellTheirTime } from '../event/request-id-times.ts';
import { keysOf } from '../event/token-uses.ts';
import { type ChainEnd, hashEvent, signAnchor, signHead } from './chain.ts';
import type { ChainRow, StoredEvent } from './event-store.ts';
import { type AuditProblem, auditProblems } from './problem.ts';

/** `key`: derived under `headLabel`. Undefined: both signatures are right. */
export const checkSignatures = (key: Buffer, row: ChainRow): AuditProblem | undefined => {
  const { chain } = row;
  if (!equalInConstantTime(row.mac, signHead(key, row)))
    return { chain, seq: null, problem: auditProblems.headSignature };
  const anchor = { seq: row.anchorSeq, hash: row.anchorHash };
  if (!equalInConstantTime(row.anchorMac, signAnchor(key, chain, anchor)))
    return { chain, seq: null, problem: auditProblems.anchorSignature };
  return undefined;
};

/** True when the hash of the event is right, and so are the columns that are computed from hashed ones. */
export const isAsWritten = (before: string, chain: number, event: StoredEvent): boolean =>
  hashEvent(before, chain, event.seq, event) === event.hash &&
  event.exact &&
  keysOf(event.uses) === event.use_keys &&
  event.ids_indexed === !tellTheirTime(event.request_ids, event.at);

/** Second argument: the last two stored events, the later one first. */
export const checkEnd = (row: ChainRow, [last, before]: readonly StoredEvent[]): AuditProblem | undefined => {
  const { chain, seq } = row;
  const lastSeq = last?.seq ?? row.anchorSeq;
  if (lastSeq > seq) return { chain, seq: seq + 1, problem: auditProblems.eventsBehind };
  if (lastSeq < seq) return { chain, seq: lastSeq + 1, problem: `${auditProblems.endMissing} ${seq}` };
  if (last === undefined || seq === row.anchorSeq)
    return row.anchorHash === row.hash ? undefined : { chain, seq, problem: auditProblems.eventNotSigned };
  if (last.hash !== row.hash) return { chain, seq, problem: auditProblems.eventNotSigned };
  const hash = seq - 1 === row.anchorSeq ? row.anchorHash : before?.seq === seq - 1 ? before.hash : undefined;
  if (hash === undefined) return { chain, seq: seq - 1, problem: auditProblems.eventMissing };
  return isAsWritten(hash, chain, last) ? undefined : { chain, seq, problem: auditProblems.eventChanged };
};

/**
 * Checks that a head with right signatures continues an end that was known earlier. `hashAt`: the stored hash at the
 * known position; undefined unless exactly one event has that position.
 */
export const checkKnown = (row: ChainRow, known: ChainEnd, hashAt: string | undefined): AuditProblem | undefined => {
  const { chain } = row;
  const { seq, hash } = known;
  if (seq > row.seq) return { chain, seq: row.seq + 1, problem: `${auditProblems.endMissing} ${seq}` };
  const stored = seq === row.seq ? row.hash : seq === row.anchorSeq ? row.anchorHash : hashAt;
  // The retention has dropped this event, so there is nothing to compare.
  if (seq < row.anchorSeq) return undefined;
  return stored?.startsWith(hash) === true ? undefined : { chain, seq, problem: auditProblems.notContinued };
};

/** True when `checkKnown` needs the stored hash of the event at the known position. */
export const needsEvent = (row: ChainRow, { seq }: ChainEnd): boolean => seq < row.seq && seq > row.anchorSeq;
