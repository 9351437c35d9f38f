// A wallet as extensions are one (EIP-1193, EIP-6963), whose answers come from the test.
// `__WALLET__` is replaced by its announcement: {uuid, name, rdns, icon, isAnnounced, isInjected}.
(() => {
  const { isAnnounced, isInjected, ...info } = __WALLET__;
  const listeners = new Map();
  const emit = (event, value) => {
    for (const listener of listeners.get(event) ?? []) listener(value);
  };
  const sleeping = [];
  const provider = {
    async request({ method, params = [] }) {
      const asked = JSON.stringify({ wallet: info.uuid, method, params });
      const { isAsleep, result, error, events = [] } = JSON.parse(await window.__askWallet(asked));
      if (isAsleep) {
        await new Promise((wake) => sleeping.push(wake));
        return provider.request({ method, params });
      }
      for (const [event, value] of events) emit(event, value);
      if (error) throw Object.assign(new Error(error.message), error);
      return result;
    },
    on(event, listener) {
      listeners.set(event, [...(listeners.get(event) ?? []), listener]);
    },
    removeListener(event, listener) {
      const others = (listeners.get(event) ?? []).filter((one) => one !== listener);
      listeners.set(event, others);
    },
  };
  window.__wallets ??= {};
  const wake = () => sleeping.splice(0).forEach((one) => one());
  window.__wallets[info.uuid] = { emit, wake };
  if (isInjected) window.ethereum = provider;
  if (!isAnnounced) return;
  const announce = () =>
    window.dispatchEvent(
      new CustomEvent("eip6963:announceProvider", { detail: Object.freeze({ info, provider }) }),
    );
  window.addEventListener("eip6963:requestProvider", announce);
  window.__wallets[info.uuid].announce = announce;
  announce();
})();
