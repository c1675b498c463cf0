/** The functions of the ledger that other folders of the core use. */
export { creditClosedOrder, redeemPoints, reverseOrderPoints } from './order-points.ts';
export {
  balanceMax,
  pointsOfValue,
  postEntry,
  recordEntryCreated,
  writeEntry,
} from './post-entry.ts';
