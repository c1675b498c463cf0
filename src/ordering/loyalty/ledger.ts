/** The functions of the ledger that other folders of the core use. */
export { creditClosedOrder, redeemPoints, reverseOrderPoints } from './order-points.ts';
export {
  type NewEntry,
  type PostResult,
  pointsOfValue,
  postEntry,
  recordEntryCreated,
  valueOfPoints,
  writeEntry,
} from './post-entry.ts';
