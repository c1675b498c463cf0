/** A function that makes its value at the first call and returns the same one afterwards. */
export const lazy = <T>(make: () => T): (() => T) => {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
};
