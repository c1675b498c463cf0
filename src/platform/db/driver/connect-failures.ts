/**
 * Errors of connections that could not be made. Their reasons are many: a network, a refused password or host, TLS, a database that
 * lets no one in. An operator can correct each of them while the program runs, so none is a defect of a request.
 */
const failures = new WeakSet<Error>();

export const noteConnectFailure = (error: Error): void => {
  failures.add(error);
};

export const isConnectFailure = (error: Error): boolean => failures.has(error);
