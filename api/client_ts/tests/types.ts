/** Mistakes that the compiler must find: if a type became looser, it would report that nothing is wrong below one of these comments. */
import { answer, createClient } from "mandate-wallet-client";

const params = { path: { id: "m_aaaaaaaaaa" } };

export async function mistakes(): Promise<void> {
  const api = createClient("https://the.service");
  // @ts-expect-error There is no such path.
  await api.GET("/mandate-wallet/mandate/{id}", { params });
  // @ts-expect-error The path needs an id.
  await api.GET("/mandate-wallet/mandates/{id}");
  // @ts-expect-error There is no budget.
  await api.POST("/mandate-wallet/mandates", { body: { purpose: "Buy units.", horizon_days: 30, stop_floor_bps: 500 } });
  const { mandate } = await answer(api.GET("/mandate-wallet/mandates/{id}", { params }));
  // @ts-expect-error The field is called status.
  mandate.state;
  // @ts-expect-error A status is text.
  mandate.status satisfies number;
}
