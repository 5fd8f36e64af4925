# What stands for the reader's table and models.
import pandas
import pyarrow
import torch

import gplens
from gplens.estimators import GPRegressor

X_train = torch.rand(12, 2, generator=torch.Generator().manual_seed(0)).double()
X, likelihood = X_train[:2], None
frame = pandas.DataFrame(X_train.numpy(), columns=["heat", "time"])
GPRegressor(random_state=0, progress=False).fit(frame, frame.sum(axis=1)).save("model")
table = pyarrow.Table.from_pandas(frame)
model = GPRegressor.load("model")
