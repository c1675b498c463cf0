export type EmbeddedErrorCode =
  /** Another Orderpass is running on this data folder. */
  | 'DATA_DIR_IN_USE'
  /** The data belongs to another user of this machine, or its folder is out of the server's reach. */
  | 'DATA_DIR_FOREIGN'
  /** There is data, but parts that PostgreSQL needs are gone. Nothing is touched. */
  | 'DATA_DIR_DAMAGED'
  | 'DATA_DIR_OTHER_VERSION'
  /** PostgreSQL cannot be run on this machine. */
  | 'POSTGRES_UNUSABLE'
  /** The server of another Orderpass runs, and has no resources for one more connection. */
  | 'POSTGRES_EXHAUSTED'
  /** The disk that holds the data has no room left. */
  | 'DISK_FULL'
  /** PostgreSQL was started and did not come up. */
  | 'POSTGRES_NOT_READY';

/** What keeps the store from starting. The message says what a person can do about it. */
export class EmbeddedError extends Error {
  readonly code: EmbeddedErrorCode;
  constructor(code: EmbeddedErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'EmbeddedError';
    this.code = code;
  }
}

/** `error`: an EACCES of the data folder or of something in it. */
export const foreignData = (dataDir: string, error: unknown): EmbeddedError =>
  new EmbeddedError(
    'DATA_DIR_FOREIGN',
    `the data in ${dataDir} belongs to another user: run this as the user that started Orderpass`,
    error,
  );

/** The `code` of a Node error such as ENOENT, or an empty string. */
export const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
