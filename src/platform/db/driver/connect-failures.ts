/**
 * Errors of connections that could not be made, whatever the reason: the network, a refused password, TLS, a closed database. Each
 * may be corrected while the program runs, so none is a defect of a request.
 */
const failures = new WeakSet<Error>();

export const noteConnectFailure = (error: Error): void => {
  failures.add(error);
};

export const isConnectFailure = (error: Error): boolean => failures.has(error);
