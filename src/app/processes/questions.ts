/** Questions to other processes by messages: each has an id, and waits for its answer within a bound. */

export type Questions<A> = {
  /** `send` sends the question with this id. Resolves to undefined when no answer comes in time. */
  ask(send: (id: number) => void): Promise<A | undefined>;
  /** An answer whose question is over is ignored. */
  receive(id: number, answer: A | undefined): void;
};

export const createQuestions = <A>(waitMsMax: number): Questions<A> => {
  const waiting = new Map<number, (answer: A | undefined) => void>();
  let asked = 0;
  return {
    ask: async (send) => {
      asked += 1;
      const id = asked;
      const { promise, resolve } = Promise.withResolvers<A | undefined>();
      waiting.set(id, resolve);
      const timer = setTimeout(() => resolve(undefined), waitMsMax);
      send(id);
      const answer = await promise;
      clearTimeout(timer);
      waiting.delete(id);
      return answer;
    },
    receive: (id, answer) => waiting.get(id)?.(answer),
  };
};
