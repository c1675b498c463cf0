/** The package has no types. */
declare module '@usebruno/schema' {
  export const collectionSchema: { validateSync(collection: unknown): unknown };
}
