/**
 * Rejects with LateAnswer when `work` takes longer than `msMax`: a connection whose peer has vanished neither answers
 * nor fails. The work itself continues, so a late result of it must be harmless.
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
