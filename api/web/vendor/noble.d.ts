export declare function sha256(data: Uint8Array): Uint8Array;
export declare function keccak_256(data: Uint8Array): Uint8Array;
export declare const secp256k1: {
  recoverPublicKey(
    signature: Uint8Array,
    message: Uint8Array,
    options: { prehash: boolean },
  ): Uint8Array;
  Point: { fromBytes(bytes: Uint8Array): { toBytes(isCompressed: boolean): Uint8Array } };
};
