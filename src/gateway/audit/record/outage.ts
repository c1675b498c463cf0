/**
 * Remembers that a request waited for the audit and timed out. Until the next successful write, later requests do not
 * wait, so an outage costs one wait instead of one for each request.
 */
export type Outage = {
  lasts(): boolean;
  /** A whole wait has timed out. */
  begin(): void;
  /** A write has succeeded. */
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
