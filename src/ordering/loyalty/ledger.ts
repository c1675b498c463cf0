/** The ledger as other parts of the core use it. */
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
