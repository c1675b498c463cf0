/** A delivery that is leased to this worker, with what its attempt needs of its endpoint. */
import type { ClaimedDelivery, DueEndpoint, LeasedDelivery } from '../queue/claim-store.ts';

/** `endpoint`: as it was when the lease was taken. */
export type Leased = ClaimedDelivery & {
  endpoint: DueEndpoint;
  /** Headers that were made before the attempt. */
  signed?: SignedAhead;
};

export type SignedAhead = { timestampSeconds: number; headers: Promise<Record<string, string>> };

type OfDelivery = Omit<LeasedDelivery, 'body'> & Pick<ClaimedDelivery, 'body' | 'leaseToken'>;

export const leasedTo = (endpoint: DueEndpoint, delivery: OfDelivery): Leased => {
  const { url, secret, previousSecret, previousSecretExpires, signatureHeader, signature, v1a, auth } = endpoint;
  return {
    ...delivery,
    ...{ url, secret, previousSecret, previousSecretExpires, signatureHeader, signature, v1a, auth, endpoint },
  };
};
