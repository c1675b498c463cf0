/**
 * Whether waiting for the audit to be written has been in vain. While it has, and until something is written again, those
 * who come next do not wait as long as the first one did: an outage costs one wait and not one for each request.
 */
export type Outage = {
  lasts(): boolean;
  /** Somebody has waited in vain. */
  begin(): void;
  /** Something was written. */
  end(): void;
};

export const createOutage = (): Outage => {
  let lasting = false;
  return {
    lasts: () => lasting,
    begin: () => {
      lasting = true;
    },
    end: () => {
      lasting = false;
    },
  };
};
