/** What can be wrong with the audit, in the words of its verification; what was verified keeps these words. */

export const auditProblems = {
  chainMissing: 'the chain is missing',
  headSignature: 'the signature of its head is wrong',
  anchorSignature: 'the signature of its beginning is wrong',
  eventMissing: 'the event is missing',
  eventChanged: 'the event, or its place, was changed',
  eventNotSigned: 'the event is not the one that the head was signed for',
  endMissing: 'the end of the chain is missing, up to',
} as const;

export type AuditProblemKind = keyof typeof auditProblems;

/** Which of them words of a verification are; undefined for words that nobody here wrote. */
export const kindOfAuditProblem = (words: string): AuditProblemKind | undefined =>
  (Object.keys(auditProblems) as AuditProblemKind[]).find((kind) => words.startsWith(auditProblems[kind]));
