/** How much of everything a store of so many orders has, and whether the disk has room for it. */
import { statfs } from 'node:fs/promises';

export type Size = {
  orders: number;
  customers: number;
  /** Waiting for their next attempt, or behind an earlier one. */
  deliveries: number;
  restaurants: number;
  credentials: number;
  auditEvents: number;
  /** Orders that each restaurant but the first one has. */
  ordersOfOthers: number;
  /** So many times as many are those of the first restaurant, about a tenth of all. */
  firstShare: number;
};

export const ordersMax = 10_000_000;

const restaurantsMin = 10;
const ordersOfRestaurant = 1_000;

export const sizeOf = (orders: number): Size => {
  const restaurants = Math.max(restaurantsMin, Math.round(orders / ordersOfRestaurant));
  const firstShare = Math.max(1, Math.round((restaurants - 1) / 9));
  // Even, since each customer has two orders.
  const ordersOfOthers = Math.max(2, 2 * Math.round(orders / (restaurants - 1 + firstShare) / 2));
  const all = ordersOfOthers * (restaurants - 1 + firstShare);
  return {
    ...{ orders: all, restaurants, ordersOfOthers, firstShare },
    customers: all / 2,
    deliveries: Math.round(orders / 5),
    credentials: Math.round(orders / 100),
    auditEvents: Math.round(orders / 10),
  };
};

/** measured: with 500,000 orders, with everything that belongs to them, indexes included. */
const bytesOfOrder = 2_700;
/** What building the largest indexes and the log of writes take for a while. */
const passingShare = 0.25;
/** Left free for what else runs on the machine. */
const spareBytes = 2e9;

/** Why the folder has no room for a store of so many orders and one of a hundredth; undefined where it has. */
export const roomProblem = async (folder: string, orders: number): Promise<string | undefined> => {
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  const bytesOfEach = 1.01 * bytesOfOrder * (1 + passingShare);
  if (freeBytes >= orders * bytesOfEach + spareBytes) return undefined;
  const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;
  const fitting = Math.max(0, Math.floor((freeBytes - spareBytes) / bytesOfEach));
  return `${orders} orders need about ${gigabytes(orders * bytesOfEach + spareBytes)} in ${folder}, which has ${gigabytes(freeBytes)} free: name a smaller number of orders, at most ${fitting}, or another folder in TMPDIR`;
};
