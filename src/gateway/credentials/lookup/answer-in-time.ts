/**
 * A connection whose peer has vanished never answers and never fails, so whoever waits for the store gives up after a
 * while. The work itself goes on; what it finds too late must be harmless.
 */
export const answerInTime = async <T>(work: Promise<T>, msMax: number): Promise<T> => {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new LateAnswer(msMax)), msMax);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
};

export class LateAnswer extends Error {
  constructor(msMax: number) {
    super(`no answer from the store within ${msMax} ms`);
    this.name = 'LateAnswer';
  }
}
