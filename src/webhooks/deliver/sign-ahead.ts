/**
 * Signs the deliveries of a small batch while the database commits it. The main thread would only wait meanwhile. The thread that
 * signs would cost two messages after the commit, and the core that the database uses.
 */
import { signing } from '../pacing/bounds.ts';
import type { NewDelivery } from '../queue/delivery-store.ts';
import type { Leased } from './leased.ts';
import type { Sender } from './sender.ts';

export type SignAhead = {
  /** Call it right before the commit is sent. Where that fails, or a delivery is left to a claim, signatures are not used. */
  begin(made: readonly NewDelivery[]): void;
  /** The delivery with its headers, if it was signed. */
  signed(deliveryUid: string): Leased | undefined;
};

/** For one batch. `leasedOf`: undefined where a delivery is left to a claim. */
export const createSignAhead = (
  sender: Pick<Sender, 'sign'>,
  leasedOf: (made: NewDelivery) => Leased | undefined,
): SignAhead => {
  const byUid = new Map<string, Leased>();
  return {
    begin: (made) => {
      if (made.length > signing.aheadMax) return;
      // By then the statements of this turn of the event loop are on their way.
      setImmediate(() => {
        for (const one of made) {
          // Many large bodies would hold up the event loop; their attempts start a few at a time.
          const leased = one.event.body.length > signing.textMax ? undefined : leasedOf(one);
          if (leased === undefined) continue;
          leased.signed = sender.sign(leased);
          byUid.set(one.uid, leased);
        }
      });
    },
    signed: (deliveryUid) => byUid.get(deliveryUid),
  };
};
