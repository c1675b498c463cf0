/** Ids of events as people and exports give them. */

export type EventId = {
  chain: number;
  seq: number;
  /** Index of one token, where the stored event represents several. */
  use: number | undefined;
};

/** A writer of the tables may have forged a chain with any number, and its events must still be found. */
const pattern = /^(-?\d{1,10})-(\d{1,15})(?:-(\d{1,4}))?$/;

/** `CHAIN-NUMBER`, or `CHAIN-NUMBER-INDEX` for one of several tokens. Undefined for everything else. */
export const readEventId = (text: string): EventId | undefined => {
  const [, chain, seq, use] = pattern.exec(text) ?? [];
  if (chain === undefined || seq === undefined || !isChainNumber(Number(chain))) return undefined;
  return { chain: Number(chain), seq: Number(seq), use: use === undefined ? undefined : Number(use) };
};

/** The column holds 32 bits. */
const isChainNumber = (chain: number): boolean => chain >= -(2 ** 31) && chain < 2 ** 31;
